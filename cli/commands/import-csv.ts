/** `metro-forecast import-csv`: imports a CSV file into a dataset directory, with a declaration of its columns. */
import { basename, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { COLUMN_TYPES, type ColumnType } from '../../core/data/column-types.js';
import { type CsvTable, readCsvTable } from '../../core/data/csv-table.js';
import { DECLARATION } from '../../core/data/declarations.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { OperatorError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { streamRegular } from '../../core/util/read-file.js';
import { writeFileAtomic } from '../../core/util/write-atomic.js';
import { openOld } from '../../plugins/metro/import/import.js';
import { contentVersion, type Rows } from '../../plugins/metro/rows.js';
import { createdOption } from '../options.js';
import { count, print, table, toJson } from '../output.js';

interface Options {
  readonly collection: string;
  readonly key: readonly string[];
  readonly to: string;
  readonly sort: readonly string[];
  readonly type: ReadonlyMap<string, ColumnType>;
  readonly created?: Date;
  readonly json?: boolean;
}

/** Size limit of a file. Its cells are kept in memory until they are sorted. */
const MAX_BYTES = 2 ** 30;

const list = (text: string): string[] => text.split(',').map((part) => part.trim());

const parseName = (text: string): string => {
  if (!/^[a-z][a-z0-9_]*$/.test(text)) throw new InvalidArgumentError('It must be a name such as building_permits.');
  return text;
};

const parseType = (text: string, before: ReadonlyMap<string, ColumnType>): ReadonlyMap<string, ColumnType> => {
  const [, column, type] = /^([a-z][a-z0-9_]*)=(.*)$/.exec(text) ?? [];
  if (!column || !COLUMN_TYPES.includes(type as ColumnType)) {
    throw new InvalidArgumentError(`It must have the form id=text; the types are ${COLUMN_TYPES.join(', ')}.`);
  }
  return new Map([...before, [column, type as ColumnType]]);
};

/** Checks that the bytes are UTF-8. */
async function* utf8Of(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of bytes) {
    decoder.decode(chunk, { stream: true });
    yield chunk;
  }
  decoder.decode();
}

const readTable = async (file: string, { collection, key, sort, type }: Options): Promise<CsvTable> => {
  try {
    const bytes = utf8Of(streamRegular(file, MAX_BYTES));
    return await readCsvTable(bytes, { file: basename(file), name: collection, key, sort, types: type });
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    const { code, syscall } = cause as NodeJS.ErrnoException;
    const isEncoding = code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
    if (!isEncoding && syscall === undefined) throw cause;
    const reason = isEncoding ? 'it is not in UTF-8; save it as "CSV UTF-8"' : fileErrorReason(cause);
    throw new OperatorError(`${file} cannot be read: ${reason}.`, [], { cause });
  }
};

async function* batchesOf(batches: Iterable<readonly object[]>): Rows {
  yield* batches;
}

/** Replaces the collection in the directory. Resolves with the new version of the dataset. */
const write = async (read: CsvTable, { collection: name, to, created: time = new Date() }: Options) => {
  const old = await openOld(to);
  const created = time.toISOString();
  const vintage = created.slice(0, 10);
  const sources = old?.dataset.manifest.sources ?? [];
  const kept = (old?.collections ?? []).filter((each) => each !== name);
  const rowsOf = (each: string): Rows => (each === name ? batchesOf(read.rows()) : old!.dataset.read(each));
  const all = new Map([...kept, name].sort().map((each) => [each, () => rowsOf(each)]));
  const version = await contentVersion(vintage, sources, all);
  const declaration = `${toJson(read.collection)}\n`;
  await writeDirectory(
    to,
    { format: 1, version, created, vintage, synthetic: false, sources },
    { [name]: read.rows() },
    { beforeCommit: () => writeFileAtomic(join(to, name + DECLARATION), declaration) },
  );
  return version;
};

const report = ({ columns, rowCount }: CsvTable, version: string, { collection, to }: Options): string => {
  const shown = columns.map(({ name, heading, type, guessed, empty, why }) => [
    `  ${name}`,
    `${type}${guessed ? ', guessed' : ''}${why ? `: ${why}` : ''}`,
    [empty > 0 ? `${count.format(empty)} empty` : '', name === heading ? '' : `from ${JSON.stringify(heading)}`]
      .filter(Boolean)
      .join(', '),
  ]);
  return [
    `${to} is now version ${version}, with ${count.format(rowCount)} rows of ${collection}:`,
    table(shown),
    'To correct a guess, use --type COLUMN=TYPE. To serve the table, use the plugin "tables":',
    `  "plugins": [${JSON.stringify({ use: 'tables', options: { path: to } })}]`,
  ].join('\n');
};

export const register = (program: Command): void => {
  program
    .command('import-csv')
    .description('import a CSV file into a dataset directory, for the plugin "tables"')
    .argument('<file>', 'the CSV file, in UTF-8; its first line names the columns')
    .requiredOption('--collection <name>', 'name of the collection, such as permits', parseName)
    .requiredOption('--key <columns>', 'the columns that identify a row, separated by commas', list)
    .option('--to <dir>', 'the dataset directory; created if it does not exist', 'dataset')
    .option('--sort <columns>', 'columns to sort and filter by, in addition to the key, separated by commas', list, [])
    .option(
      '--type <column=type>',
      `the type of a column, instead of a guess: ${COLUMN_TYPES.join(', ')}`,
      parseType,
      new Map(),
    )
    .addOption(createdOption('the import'))
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Types are guessed from all cells: whole numbers, numbers, days, true and false, or text. Codes with leading zeros
stay text. An empty cell becomes null. Column names are converted to the form permit_no. The command replaces the
whole collection and keeps the other collections in the directory. An import that fails changes nothing.

Examples:
  $ metro-forecast import-csv permits.csv --collection permits --key id
  $ metro-forecast import-csv permits.csv --collection permits --key city,month --sort month --type id=text

Exit codes: 0 imported, 1 bad rows or another failure (nothing changed), 2 wrong usage.`,
    )
    .action(async (file: string, options: Options) => {
      const read = await readTable(file, options);
      const version = await write(read, options);
      const { columns, rowCount } = read;
      const result = { directory: options.to, version, collection: options.collection, rows: rowCount, columns };
      print(options.json ? toJson(result) : report(read, version, options));
    });
};
