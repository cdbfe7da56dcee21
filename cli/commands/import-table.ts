import { createWriteStream, existsSync } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import type { Collection, Source } from '../../core/contracts/dataset.js';
import { filterColumns } from '../../core/data/conditions.js';
import { DECLARATION, hasDeclarations, readDeclaration } from '../../core/data/declarations.js';
import { MANIFEST_FILE, readManifest } from '../../core/data/manifest.js';
import { nameOf } from '../../core/data/table/names.js';
import { type Key, type ReadTable, readTable, SampleError } from '../../core/data/table/table.js';
import { EncodingError } from '../../core/data/table/text.js';
import { writeTable, writeToDirectory } from '../../core/data/table/write-table.js';
import { OperatorError } from '../../core/errors.js';
import { counted } from '../../core/util/counted.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { openUrl } from '../../core/util/open-url.js';
import { listPath } from '../../plugins/tables/paths.js';
import { tableNameError } from '../../plugins/tables/routes.js';
import { loadConfig, loadModules } from '../../product.js';
import { interruptible } from '../interruptible.js';
import { count, print, table, toJson } from '../output.js';
import { withProgress } from '../progress.js';
import { isDatabase, writeToDatabase } from '../table-database.js';
import { type TableCommandOptions as Options, withTableOptions } from '../table-options.js';

const STDIN = '-';

const isUrl = (source: string): boolean => /^https?:\/\//i.test(source);

const fileName = (source: string): string => {
  if (source === STDIN) return 'stdin';
  if (!isUrl(source)) return basename(source);
  if (!URL.canParse(source)) throw new OperatorError(`${source} is not a valid URL.`);
  const { pathname } = new URL(source);
  try {
    return basename(decodeURIComponent(pathname));
  } catch {
    return basename(pathname);
  }
};

const refuseTemporary = (cause: NodeJS.ErrnoException): never => {
  if (cause.syscall !== 'write' && cause.syscall !== 'mkdtemp') throw cause;
  const reason = fileErrorReason(cause);
  const message = `The temporary folder ${tmpdir()} cannot be written: ${reason}.`;
  throw new OperatorError(message, ['set TMPDIR to another folder'], { cause });
};

const withTemporaryFolder = async <T>(task: (folder: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-')).catch(refuseTemporary);
  try {
    return await task(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** `task` can read its file twice, so a URL is downloaded, and standard input is saved to a temporary file. */
const withFile = async <T>(source: string, signal: AbortSignal, task: (path: string) => Promise<T>): Promise<T> => {
  if (!isUrl(source) && source !== STDIN) return task(source);
  return withTemporaryFolder(async (folder) => {
    const path = join(folder, 'download');
    const bytes = source === STDIN ? process.stdin : (await openUrl(source, { signal })).bytes;
    await pipeline(bytes, createWriteStream(path), { signal }).catch(refuseTemporary);
    return await task(path);
  });
};

const reasonOf = (cause: unknown): string | undefined => {
  if (cause instanceof EncodingError) return cause.message;
  return (cause as NodeJS.ErrnoException).syscall === undefined ? undefined : fileErrorReason(cause);
};

interface Target {
  readonly name: string;
  readonly folder: string;
  /** The existing declaration of the collection. */
  readonly declaration: Collection | undefined;
  readonly onWrite: (rows: number) => void;
  readonly signal: AbortSignal;
}

const read = async (
  path: string,
  source: string,
  { name: collection, declaration, signal }: Target,
  options: Options,
  isWhole: boolean,
): Promise<ReadTable> => {
  const { type: types, name: names } = options;
  const all = { ...options, file: fileName(source), name: collection, declaration, signal, types, names };
  try {
    return await readTable(path, all, isWhole);
  } catch (cause) {
    if (cause instanceof OperatorError && cause.errors.length > 0) throw cause;
    const reason = cause instanceof OperatorError ? cause.message : reasonOf(cause);
    if (reason === undefined) throw cause;
    throw new OperatorError(`${source === STDIN ? fileName(source) : source} cannot be read: ${reason}.`, [], {
      cause,
    });
  }
};

/** Plugins that `init` and the tutorial configure in addition to "tables". */
const SERVED_WITH = ['table-pages', 'status', 'docs'];

/** @throws OperatorError if the service would not start */
const assertServable = (collection: Collection, directory: string): Promise<void> =>
  withTemporaryFolder(async (folder) => {
    const files = (await readdir(directory)).filter((name) => name.endsWith(DECLARATION));
    for (const file of files) await copyFile(join(directory, file), join(folder, file));
    await writeFile(join(folder, collection.name + DECLARATION), toJson(collection));
    const path = join(folder, 'service.json');
    const plugins = [{ use: 'tables', options: { path: folder } }, ...SERVED_WITH];
    await writeFile(path, toJson({ adapter: 'memory', plugins, auth: { keys: 'memory' } }));
    const loaded = loadConfig({ path }).then(loadModules);
    await loaded.catch((cause: unknown) => {
      if (!(cause instanceof OperatorError)) throw cause;
      const advice = 'use --collection and --name to choose different names';
      throw new OperatorError(`The table cannot be served, and nothing was changed:`, [...cause.errors, advice], {
        cause,
      });
    });
  });

const keyLine = ({ columns, isNumbered }: Key, isGiven: boolean): string => {
  const names = columns.join(', ');
  if (isGiven) return `Key: ${names}`;
  return isNumbered
    ? `Key: ${names}, the row number, because no columns identify a row. To choose columns, use --key.`
    : `Key: ${names}, which ${columns.length === 1 ? 'identifies' : 'identify'} a row. To choose different columns, use --key.`;
};

const filterNotes = (columns: ReadTable['columns'], collection: Collection): readonly string[] => {
  const filters = Object.keys(filterColumns(collection));
  if (columns.every(({ name }) => filters.includes(name))) return [];
  return [
    `of ${counted(columns.length, 'column')}, requests can filter only by ${filters.join(', ')}; --sort adds columns`,
  ];
};

type Imported = Pick<ReadTable, 'columns' | 'rowCount' | 'found' | 'notes'>;

type Written = Awaited<ReturnType<typeof writeTable>>;

const report = (
  { columns, rowCount, found, notes }: Imported,
  { version, collection, key }: Written,
  options: Options,
  isDeclared: boolean,
): string => {
  const { to } = options;
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
    `${to} is now version ${version}, with ${counted(rowCount, 'row')} of ${collection.name}:`,
    table(shown),
    `Read as: ${found.join(', ')}`,
    keyLine(key, options.key !== undefined || isDeclared),
    ...notes.map((note) => `Note: ${note}`),
    'To correct a guess, use --type COLUMN=TYPE.',
    `To serve the table at ${listPath(collection.name)}, use the plugin "tables":`,
    `  "plugins": [${JSON.stringify({ use: 'tables', options: { path: isDatabase(to) ? dirname(to) : to } })}]`,
    ...(isDatabase(to) ? [`  "adapter": ${JSON.stringify({ use: 'sqlite', options: { path: to } })}`] : []),
  ].join('\n');
};

/**
 * Derives the name of the collection from the name of the file. Adds `_table` to names that are not allowed. For
 * example, `status.csv` becomes `status_table`, because `/status` is an endpoint.
 */
const collectionName = (source: string): string => {
  const name = nameOf(
    fileName(source).replace(/(\.(csv|tsv|txt|tab|psv|dat|data|json|jsonl|ndjson|parquet|xlsx|gz|zip))+$/i, ''),
  );
  return tableNameError(name) === undefined ? name || 'table' : `${name}_table`;
};

/** @throws OperatorError if the dataset is synthetic, because the manifest applies to all tables in the directory */
const sourcesIn = async (directory: string): Promise<readonly Source[]> => {
  if (!existsSync(join(directory, MANIFEST_FILE))) return [];
  const { synthetic, sources } = await readManifest(directory);
  if (!synthetic) return sources;
  throw new OperatorError(`${directory} contains a synthetic dataset, which cannot be mixed with other tables.`, [
    'use --to to name another directory',
  ]);
};

/** Writing more rows than this takes longer than a second, so the command shows its progress. */
const SHOWS_PROGRESS = 200_000;

/**
 * Derives the column types from the first rows, and imports the table. If later rows do not match these types, derives
 * the types from the whole file and imports the table again.
 */
const importFrom = async (
  path: string,
  source: string,
  options: Options,
  target: Target,
  isWhole = false,
): Promise<{ readonly imported: ReadTable; readonly written: Written }> => {
  const { to, created = new Date() } = options;
  const imported = await read(path, source, target, options, isWhole);
  const sources = await sourcesIn(to);
  const { name, folder, onWrite, signal } = target;
  const check = (collection: Collection) => assertServable(collection, folder);
  const destination = { folder, created, check, onWrite, signal };
  try {
    const written = await writeTable(imported, { name, folder }, (keyed) =>
      isDatabase(to) ? writeToDatabase(resolve(to), keyed, destination) : writeToDirectory(keyed, destination, sources),
    );
    return { imported, written };
  } catch (error) {
    if (!(error instanceof SampleError)) throw error;
    return importFrom(path, source, options, target, true);
  }
};

/** Returns undefined if the table is not declared, or if its invalid declaration will be replaced. */
const existingDeclaration = (folder: string, name: string, isReplaced = false): Collection | undefined => {
  try {
    return readDeclaration(folder, name);
  } catch (error) {
    if (isReplaced) return undefined;
    throw error;
  }
};

const withoutExamples = (collection: Collection | undefined): unknown =>
  collection && { ...collection, schema: { ...collection.schema, examples: undefined } };

const run = async (source: string, options: Options): Promise<void> => {
  const { to } = options;
  const name = options.collection ?? collectionName(source);
  const folder = isDatabase(to) ? dirname(resolve(to)) : to;
  const work = (path: string, signal: AbortSignal): Promise<void> =>
    withProgress(async (progress) => {
      const isServed = hasDeclarations(folder);
      const existing = existingDeclaration(folder, name, options.redeclare);
      const declaration = options.redeclare ? undefined : existing;
      const onWrite = (rows: number) => {
        if (rows > SHOWS_PROGRESS) progress.update(`writing ${name}`, rows);
      };
      const { imported, written } = await importFrom(path, source, options, {
        name,
        folder,
        declaration,
        onWrite,
        signal,
      });
      const needsRestart =
        isServed && !isDeepStrictEqual(withoutExamples(existing), withoutExamples(written.collection));
      progress.finish();
      const { columns, rowCount: rows, found } = imported;
      const { version, key, collection } = written;
      const notes = [...imported.notes, ...filterNotes(columns, collection)];
      const result = { directory: folder, version, collection: name, rows, key: key.columns, needsRestart };
      print(
        options.json
          ? toJson({ ...result, found, notes, columns })
          : report({ columns, rowCount: rows, found, notes }, written, options, declaration !== undefined),
      );
      if (needsRestart && !options.json)
        print(`Restart any running service that serves these tables: the declaration of ${name} has changed.`);
    });
  await interruptible('The import was interrupted, and nothing was changed.', (signal) =>
    withFile(source, signal, (path) => work(path, signal)),
  );
};

export const register = (command: Command): void => {
  command.argument(
    '<file>',
    'a file, http(s) URL or "-" for standard input: CSV or similar text, JSON, NDJSON, Parquet, or an Excel workbook',
  );
  withTableOptions(command)
    .addHelpText(
      'after',
      `
The command detects and reports the format, compression, encoding, separator, lines above the table, key and types,
unless you set them with options. A column is read as numbers only if no value would lose a digit or a significant zero.
Currency signs, spaces between thousands and the brackets of negative amounts are removed from numbers. Markers such as
NA become null in columns of numbers, dates and booleans. Headings are converted to ASCII names such as permit_no, and
the OpenAPI document shows the heading as the title of the column. Options accept the name or the heading of a column.
The path of a collection contains hyphens: building_permits is served at /building-permits. The command replaces all
rows of the collection and keeps all other collections. If the collection is already declared, its declaration provides
the key, names, types, --sort and --search, unless you set them with options. Other edits of the declaration stay, and
new columns are added to it. Options that describe the file, such as --missing, --decimal, --date-order and --header,
are not stored, so repeat them in each import. If an import fails, nothing changes.

Examples:
  $ metro-forecast import-table permits.csv
  $ metro-forecast import-table permits.xlsx --collection permits --key city,month --sort month --type id=text
  $ metro-forecast import-table https://example.org/stations.tsv.gz --name "Höhe (m)=height_m"

Exit codes: 0 imported, 1 bad rows or another failure (nothing changed), 2 wrong usage.`,
    )
    .action(run);
};
