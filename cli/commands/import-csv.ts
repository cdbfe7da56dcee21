/**
 * `metro-forecast import-csv`: imports a CSV of any subject into a dataset directory, with a declaration of its
 * columns.
 */
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { COLUMN_TYPES, type ColumnType, type CsvTable, tableOfCsv } from '../../core/data/csv-table.js';
import { DECLARATION } from '../../core/data/declarations.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { OperatorError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { writeFileAtomic } from '../../core/util/write-atomic.js';
import { openOld } from '../../plugins/metro/import/import.js';
import { contentVersion, inOneBatch, type Rows } from '../../plugins/metro/rows.js';
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

const list = (text: string): string[] => text.split(',').map((part) => part.trim());

const parseName = (text: string): string => {
  if (!/^[a-z][a-z0-9_]*$/.test(text)) throw new InvalidArgumentError('It must be a name like building_permits.');
  return text;
};

const parseType = (text: string, before: ReadonlyMap<string, ColumnType>): ReadonlyMap<string, ColumnType> => {
  const [, column, type] = /^([a-z][a-z0-9_]*)=(.*)$/.exec(text) ?? [];
  if (!column || !COLUMN_TYPES.includes(type as ColumnType)) {
    throw new InvalidArgumentError(`It must be like id=text; the types are ${COLUMN_TYPES.join(', ')}.`);
  }
  return new Map([...before, [column, type as ColumnType]]);
};

const textOf = async (file: string): Promise<string> => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (cause) {
    const isEncoding = (cause as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
    const reason = isEncoding ? 'it is not in UTF-8; save it as "CSV UTF-8"' : fileErrorReason(cause);
    throw new OperatorError(`${file} cannot be read: ${reason}.`, [], { cause });
  }
};

const report = ({ columns, rows }: CsvTable, version: string, { collection, to }: Options): string => {
  const shown = columns.map(({ name, heading, type, guessed, empty, why }) => [
    `  ${name}`,
    `${type}${guessed ? ', guessed' : ''}${why ? `: ${why}` : ''}`,
    [empty > 0 ? `${count.format(empty)} empty` : '', name === heading ? '' : `from ${JSON.stringify(heading)}`]
      .filter(Boolean)
      .join(', '),
  ]);
  return [
    `${to} is now version ${version}, with ${count.format(rows.length)} rows of ${collection}:`,
    table(shown),
    'A wrong guess is mended by --type COLUMN=TYPE. Serve it by the plugin "tables":',
    `  "plugins": [${JSON.stringify({ use: 'tables', options: { path: to } })}]`,
  ].join('\n');
};

export const register = (program: Command): void => {
  program
    .command('import-csv')
    .description('bring a CSV of your own into a dataset directory, for the plugin "tables"')
    .argument('<file>', 'the CSV, in UTF-8; its first line names the columns')
    .requiredOption('--collection <name>', 'what its rows are: permits', parseName)
    .requiredOption('--key <columns>', 'the columns that tell rows apart, separated by commas', list)
    .option('--to <dir>', 'the dataset directory; made where there is none', 'dataset')
    .option('--sort <columns>', 'columns to sort and filter by, beside the key, separated by commas', list, [])
    .option(
      '--type <column=type>',
      `a type that is not to be guessed: ${COLUMN_TYPES.join(', ')}`,
      parseType,
      new Map(),
    )
    .addOption(createdOption('the import'))
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Types are guessed from all cells: whole numbers, numbers, days, true and false, else text. Codes with leading
zeros stay text. An empty cell is null. Names of columns become like permit_no. The collection is replaced as a
whole; others of the directory stay. An import that fails changes nothing.

Examples:
  $ metro-forecast import-csv permits.csv --collection permits --key id
  $ metro-forecast import-csv permits.csv --collection permits --key city,month --sort month --type id=text

Exit codes: 0 imported, 1 bad rows or another failure (nothing changed), 2 wrong usage.`,
    )
    .action(async (file: string, options: Options) => {
      const { collection: name, key, to, sort, type, created: time = new Date() } = options;
      const read = tableOfCsv(await textOf(file), { file: basename(file), name, key, sort, types: type });
      const old = await openOld(to);
      const created = time.toISOString();
      const vintage = created.slice(0, 10);
      const sources = old?.dataset.manifest.sources ?? [];
      const kept = (old?.collections ?? []).filter((each) => each !== name);
      const rowsOf = (each: string): Rows => (each === name ? inOneBatch(read.rows) : old!.dataset.read(each));
      const all = new Map([...kept, name].sort().map((each) => [each, () => rowsOf(each)]));
      const version = await contentVersion(vintage, sources, all);
      const declaration = `${toJson(read.collection)}\n`;
      await writeDirectory(
        to,
        { format: 1, version, created, vintage, synthetic: false, sources },
        { [name]: inOneBatch(read.rows) },
        { beforeCommit: () => writeFileAtomic(join(to, name + DECLARATION), declaration) },
      );
      const columns = read.columns;
      print(
        options.json
          ? toJson({ directory: to, version, collection: name, rows: read.rows.length, columns })
          : report(read, version, options),
      );
    });
};
