/** `metro-forecast import-table`: imports a file as a collection of a dataset directory, with a declaration of its columns. */
import { createWriteStream } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Collection } from '../../core/contracts/dataset.js';
import { DECLARATION } from '../../core/data/declarations.js';
import { nameOf } from '../../core/data/table/names.js';
import { COLUMN_TYPES, type ColumnType } from '../../core/data/table/notations.js';
import { FORMATS, type Format } from '../../core/data/table/rows.js';
import { COMPRESSIONS, type Compression } from '../../core/data/table/source.js';
import { type ReadTable, readTable } from '../../core/data/table/table.js';
import { EncodingError } from '../../core/data/table/text.js';
import { type WrittenTable, writeTable } from '../../core/data/table/write-table.js';
import { OperatorError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { openOld } from '../../plugins/metro/import/import.js';
import { openUrl } from '../../plugins/metro/import/input.js';
import { tableNameError } from '../../plugins/tables/routes.js';
import { loadConfig, loadModules } from '../../product.js';
import { createdOption } from '../options.js';
import { count, print, table, toJson } from '../output.js';
import { withProgress } from '../progress.js';
import { isDatabase, withTarget } from '../table-database.js';

interface Options {
  readonly collection?: string;
  readonly key?: readonly string[];
  readonly to: string;
  readonly sort: readonly string[];
  readonly type: ReadonlyMap<string, ColumnType>;
  readonly name: ReadonlyMap<string, string>;
  readonly missing: readonly string[];
  readonly format?: Format;
  readonly compression?: Compression;
  readonly encoding?: string;
  readonly separator?: string;
  readonly quote?: string;
  readonly header?: number | 'none';
  readonly sheet?: string;
  readonly decimal?: 'point' | 'comma';
  readonly dateOrder?: 'dmy' | 'mdy';
  readonly skipBadRows?: boolean;
  readonly created?: Date;
  readonly json?: boolean;
}

const NAME = /^[a-z][a-z0-9_]*$/;

const list = (text: string): string[] => text.split(',').map((part) => part.trim());

const parseName = (text: string): string => {
  if (!NAME.test(text)) throw new InvalidArgumentError('It must be a name such as building_permits.');
  return text;
};

/** The parts of `column=value`. The heading of a column may contain equals signs. */
const parsePair = (text: string): readonly [column: string, value: string] => {
  const at = text.lastIndexOf('=');
  return [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
};

const parseType = (text: string, before: ReadonlyMap<string, ColumnType>): ReadonlyMap<string, ColumnType> => {
  const [column, type] = parsePair(text);
  if (!column || !COLUMN_TYPES.includes(type as ColumnType)) {
    throw new InvalidArgumentError(`It must have the form id=text; the types are ${COLUMN_TYPES.join(', ')}.`);
  }
  return new Map([...before, [column, type as ColumnType]]);
};

const parseColumnName = (text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const [heading, name] = parsePair(text);
  if (!heading || !NAME.test(name)) throw new InvalidArgumentError('It must have the form "Size (cm)=size_cm".');
  return new Map([...before, [heading, name]]);
};

const parseSeparator = (text: string): string => {
  const separator = text === '\\t' || text === 'tab' ? '\t' : text;
  if (separator === '' || /["\r\n]/.test(separator))
    throw new InvalidArgumentError('It must be text such as ; or tab.');
  return separator;
};

const parseQuote = (text: string): string => {
  if (text !== 'none' && text.length !== 1) throw new InvalidArgumentError('It must be one character, or none.');
  return text;
};

const parseHeader = (text: string): number | 'none' => {
  if (text === 'none') return text;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be the number of a line, or none.');
  return Number(text);
};

const parseEncoding = (text: string): string => {
  try {
    return new TextDecoder(text).encoding;
  } catch {
    throw new InvalidArgumentError('It must be an encoding such as utf-8, utf-16le, windows-1252 or shift_jis.');
  }
};

const isUrl = (source: string): boolean => /^https?:\/\//i.test(source);

/** The name of a file or URL: `permits.csv.gz`. */
const fileName = (source: string): string =>
  basename(isUrl(source) ? decodeURIComponent(new URL(source).pathname) : source);

/** Runs a task with a local file: the source, or what its URL returns. */
const withFile = async <T>(source: string, task: (path: string) => Promise<T>): Promise<T> => {
  if (!isUrl(source)) return task(source);
  if (!URL.canParse(source)) throw new OperatorError(`${source} is not a valid URL.`);
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-'));
  try {
    const path = join(folder, 'download');
    const { bytes } = await openUrl(source, undefined, Number.POSITIVE_INFINITY);
    await pipeline(bytes, createWriteStream(path));
    return await task(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const reasonOf = (cause: unknown): string | undefined => {
  if (cause instanceof EncodingError) return cause.message;
  return (cause as NodeJS.ErrnoException).syscall === undefined ? undefined : fileErrorReason(cause);
};

const read = async (path: string, source: string, collection: string, options: Options): Promise<ReadTable> => {
  const { type: types, name: names } = options;
  try {
    return await readTable(path, { ...options, file: fileName(source), name: collection, types, names });
  } catch (cause) {
    if (cause instanceof OperatorError && cause.errors.length > 0) throw cause;
    const reason = cause instanceof OperatorError ? cause.message : reasonOf(cause);
    if (reason === undefined) throw cause;
    throw new OperatorError(`${source} cannot be read: ${reason}.`, [], { cause });
  }
};

/** Plugins of a service that `init` and the tutorial configure. */
const SERVED_WITH = ['table-pages', 'status', 'docs'];

/** Loads a service with all tables of the directory. @throws OperatorError as its start would */
const assertServable = async (collection: Collection, directory: string): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-'));
  try {
    const files = (await readdir(directory)).filter((name) => name.endsWith(DECLARATION));
    for (const file of files) await copyFile(join(directory, file), join(folder, file));
    await writeFile(join(folder, collection.name + DECLARATION), toJson(collection));
    const path = join(folder, 'service.json');
    const plugins = [{ use: 'tables', options: { path: folder } }, ...SERVED_WITH];
    await writeFile(path, toJson({ adapter: 'memory', plugins, auth: { keys: 'memory' } }));
    await loadModules(await loadConfig({ path }));
  } catch (cause) {
    if (!(cause instanceof OperatorError)) throw cause;
    const advice = '--collection and --name set other names';
    throw new OperatorError(`The table cannot be served, and nothing was changed:`, [...cause.errors, advice], {
      cause,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const keyLine = ({ key: { columns, isNumbered } }: WrittenTable, { key }: Options): string => {
  const names = columns.join(', ');
  if (key) return `Key: ${names}`;
  return isNumbered
    ? `Key: ${names}, the number of the row, since no columns identify a row. --key names columns.`
    : `Key: ${names}, which ${columns.length === 1 ? 'identifies' : 'identify'} a row. --key names other columns.`;
};

const report = ({ columns, rowCount, found, notes }: ReadTable, written: WrittenTable, options: Options): string => {
  const { to } = options;
  const { version, collection } = written;
  const shown = columns.map(({ name, heading, type, guessed, empty, missing = {}, why, note }) => [
    `  ${name}`,
    `${type}${guessed ? ', guessed' : ''}${why ? `: ${why}` : ''}`,
    [
      empty > 0 ? `${count.format(empty)} empty` : '',
      ...Object.entries(missing).map(([marker, cells]) => `${count.format(cells)} of them ${JSON.stringify(marker)}`),
      name === heading ? '' : heading === '' ? 'without a heading' : `from ${JSON.stringify(heading)}`,
      note ?? '',
    ]
      .filter(Boolean)
      .join(', '),
  ]);
  return [
    `${to} is now version ${version}, with ${count.format(rowCount)} rows of ${collection.name}:`,
    table(shown),
    `Read as: ${found.join(', ')}`,
    keyLine(written, options),
    ...notes.map((note) => `Note: ${note}`),
    'To correct a guess, use --type COLUMN=TYPE. To serve the table, use the plugin "tables":',
    `  "plugins": [${JSON.stringify({ use: 'tables', options: { path: isDatabase(to) ? dirname(to) : to } })}]`,
    ...(isDatabase(to) ? [`  "adapter": ${JSON.stringify({ use: 'sqlite', options: { path: to } })}`] : []),
  ].join('\n');
};

/** The name of the file. `status.csv` becomes `status_table`, since services have an endpoint `/status`. */
const collectionName = (source: string): string => {
  const name = nameOf(
    fileName(source).replace(/(\.(csv|tsv|txt|tab|psv|dat|data|json|jsonl|ndjson|parquet|xlsx|gz|zip))+$/i, ''),
  );
  return tableNameError(name) === undefined ? name || 'table' : `${name}_table`;
};

/** Tables with more rows take longer than a second. */
const SHOWS_PROGRESS = 200_000;

const run = async (source: string, options: Options): Promise<void> => {
  const name = options.collection ?? collectionName(source);
  const old = await openOld(options.to);
  await withTarget(options.to, ({ directory, folder, publish }) =>
    withFile(source, (path) =>
      withProgress(async (progress) => {
        const imported = await read(path, source, name, options);
        const onWrite = (rows: number) => {
          if (imported.rowCount > SHOWS_PROGRESS) progress.update(`writing ${name}`, rows, imported.rowCount);
        };
        const table = await writeTable(imported, {
          directory,
          name,
          created: options.created ?? new Date(),
          sources: old?.dataset.manifest.sources ?? [],
          check: (collection) => assertServable(collection, folder),
          onWrite,
        });
        const written = { ...table, version: await publish(table.collection, table.version, onWrite) };
        progress.finish();
        const { columns, rowCount: rows, found, notes } = imported;
        const { version, key } = written;
        const result = { directory: folder, version, collection: name, rows, key: key.columns, found, notes, columns };
        print(options.json ? toJson(result) : report(imported, written, options));
      }),
    ),
  );
};

export const register = (program: Command): void => {
  program
    .command('import-table')
    .alias('import-csv')
    .description('import a table into a dataset directory, for the plugin "tables"')
    .argument('<file>', 'a file or http(s) URL: CSV and the like, JSON, NDJSON, Parquet, or an Excel workbook')
    .option(
      '--collection <name>',
      'name of the collection, such as permits (default: from the name of the file)',
      parseName,
    )
    .option(
      '--key <columns>',
      'the columns that identify a row, separated by commas, or row for its number (default: found in the data)',
      list,
    )
    .option('--to <path>', 'the dataset directory, or a database file such as data.db; created if missing', 'dataset')
    .option('--sort <columns>', 'columns to sort and filter by, in addition to the key, separated by commas', list, [])
    .option('--type <column=type>', `the type of a column: ${COLUMN_TYPES.join(', ')}`, parseType, new Map())
    .option('--name <heading=name>', 'the name of a column, such as "Size (cm)=size_cm"', parseColumnName, new Map())
    .option(
      '--missing <text>',
      'a text that means a missing value, in every column',
      (text, before: string[]) => [...before, text],
      [],
    )
    .addOption(new Option('--decimal <sign>', 'the sign before decimals').choices(['point', 'comma']))
    .addOption(
      new Option('--date-order <order>', 'the order of day and month in dates like 01/02/2025').choices(['dmy', 'mdy']),
    )
    .addOption(new Option('--format <format>', 'the format of the file').choices(FORMATS))
    .addOption(new Option('--compression <name>', 'the compression of the file').choices(COMPRESSIONS))
    .option(
      '--encoding <name>',
      'the encoding of text, such as utf-8, utf-16le, windows-1252 or shift_jis',
      parseEncoding,
    )
    .option('--separator <text>', 'the separator of cells, such as ; or tab', parseSeparator)
    .option('--quote <character>', 'the quote around cells, or none', parseQuote)
    .option('--header <line>', 'the line that names the columns, or none', parseHeader)
    .option('--sheet <name>', 'the sheet of a workbook (default: the first with rows)')
    .option('--skip-bad-rows', 'leave bad rows out and report them, instead of failing')
    .addOption(createdOption('the import'))
    .option('--json', 'print the report as JSON for machines')
    .addHelpText(
      'after',
      `
Everything without an option is recognized and reported: format, compression, encoding, separator, lines above the
table, key and types. A column is a number only if no cell loses a digit or a zero that matters. Markers such as NA
become null in columns of numbers, dates and booleans. Names become ASCII of the form permit_no. The heading stays as
the title of the column in the API document. Options take the name or the heading of a column. The command replaces the
whole collection and keeps the other collections in the directory. An import that fails changes nothing.

Examples:
  $ metro-forecast import-table permits.csv
  $ metro-forecast import-table permits.xlsx --collection permits --key city,month --sort month --type id=text
  $ metro-forecast import-table https://example.org/stations.tsv.gz --name "Höhe (m)=height_m"

Exit codes: 0 imported, 1 bad rows or another failure (nothing changed), 2 wrong usage.`,
    )
    .action(run);
};
