import { existsSync, readdirSync, statSync } from 'node:fs';
import { readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import type { Collection } from '../../core/contracts/dataset.js';
import { hasDeclarations, readDeclarations } from '../../core/data/declarations.js';
import { type OpenedDirectory, openDirectory } from '../../core/data/directory.js';
import { MANIFEST_FILE } from '../../core/data/manifest.js';
import { OperatorError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { packageName, packageRoot } from '../../core/util/package.js';
import { compileSchema } from '../../core/validation/compile-schema.js';
import { plugins as builtins } from '../../product.js';
import { sqliteAdvice } from '../large-dataset.js';
import { CONFIG_FILE, commandLine } from '../options.js';
import { print, toJson } from '../output.js';
import { EXIT_CODES } from '../report.js';
import { isDatabase } from '../table-database.js';

/**
 * The plugins that `init` can configure, sorted so that plugins follow their dependencies. None of the plugins requires
 * options or additional packages.
 */
const CANDIDATES = [
  'markets',
  'forecasts',
  'observations',
  'signals',
  'vintages',
  'status',
  'docs',
  'explore',
] as const;

interface FittingPlugins {
  readonly plugins: readonly string[];
  readonly unserved: readonly string[];
}

/**
 * Selects the plugins that can serve the dataset. The first row of each of their collections must be valid, and their
 * dependencies must be selected too.
 */
const fittingPlugins = async (opened: OpenedDirectory): Promise<FittingPlugins> => {
  const plugins: string[] = [];
  const read = new Set<string>();
  for (const name of CANDIDATES) {
    const { needs = [], collections = [] } = (await builtins[name]!()).default;
    if (typeof collections === 'function') continue;
    const readable = await Promise.all(collections.map((collection) => isReadable(collection, opened)));
    if (!readable.every(Boolean) || !needs.every((need) => plugins.includes(need))) continue;
    plugins.push(name);
    for (const collection of collections) read.add(collection.name);
  }
  return { plugins, unserved: Object.keys(opened.manifest.collections).filter((name) => !read.has(name)) };
};

const isReadable = async ({ name, schema }: Collection, { dataset }: OpenedDirectory): Promise<boolean> => {
  if (!dataset.fileOf(name)) return false;
  for await (const { documents } of dataset.rows(name, () => undefined)) {
    const [first] = documents;
    return first !== undefined && compileSchema(schema)(first);
  }
  return true;
};

const SCHEMA = 'config/schema.json';

/**
 * Returns a relative path into the nearest `node_modules` or checkout. A path into a global installation or a package
 * cache would break when the file is copied or the package is updated.
 */
const schemaReference = async (folder: string): Promise<string | undefined> => {
  // Symbolic links are resolved first, because editors resolve `..` relative to the real folder.
  const real = await realpath(folder).catch(() => folder);
  const ancestors = [real];
  while (dirname(ancestors.at(-1)!) !== ancestors.at(-1)) ancestors.push(dirname(ancestors.at(-1)!));
  const found = ancestors
    .flatMap((at) => [join(at, 'node_modules', packageName, SCHEMA), ...(at === packageRoot ? [join(at, SCHEMA)] : [])])
    .find((each) => existsSync(each));
  const path = found && relative(real, found).split(sep).join('/');
  return path && !path.startsWith('.') ? `./${path}` : path;
};

const rowsOf = ({ manifest }: OpenedDirectory): number =>
  Object.values(manifest.collections).reduce((sum, { rows = 0 }) => sum + rows, 0);

/**
 * A page can make about ten requests, so the limit allows about 60 pages per minute. New keys get the first tier,
 * `enterprise`.
 */
const PUBLIC = {
  tiers: { enterprise: {}, public: { requestsPerMinute: 600 } },
  anonymous: 'public',
} as const;

interface InitOptions {
  readonly dataset: string;
  readonly public?: boolean;
}

/** Returns a title for the tables, such as `Books and book prices`. */
const titleOf = (tables: readonly string[]): string => {
  const [first = '', second, third, ...more] = tables.map((name) => name.replaceAll('_', ' '));
  const named = more.length > 0 ? [first, second!, `${more.length + 1} more tables`] : [first, second, third];
  const list = new Intl.ListFormat('en').format(named.filter((name) => name !== undefined));
  return `${list.charAt(0).toUpperCase()}${list.slice(1)}`;
};

const inDatabase = (path: string) => ({ use: 'sqlite', options: { path } });

const databaseIn = (data: string, dataset: string): string | undefined => {
  if (isDatabase(dataset)) return dataset;
  if (!hasDeclarations(data) || existsSync(join(data, MANIFEST_FILE))) return undefined;
  const [name, ...others] = readdirSync(data).filter(isDatabase);
  if (others.length > 0) throw new OperatorError(`${data} has several databases: name one with --dataset.`);
  return name && join(dataset, name);
};

interface Place extends InitOptions {
  readonly file: string;
  readonly path: string;
  readonly data: string;
}

const importStep = (data: string): string => `  ${commandLine(undefined, 'import-table', 'FILE', '--to', data)}`;

const withoutData = ({ file, path, data, dataset, public: isPublic }: Place): readonly string[] => [
  `Wrote ${path}. It serves the Metro Forecast API, because ${data} contains no dataset yet.`,
  'To serve tables instead, such as a CSV file, import them first and write the configuration again:',
  importStep(data),
  `  rm ${path} && ${commandLine(undefined, 'init', file, '--dataset', dataset, ...(isPublic ? ['--public'] : []))}`,
  'To serve the Metro Forecast API:',
  `  ${commandLine(undefined, 'import', 'SOURCE...', '--to', data)}`,
];

const writeStarter = async (file: string, { dataset, public: isPublic = false }: InitOptions): Promise<void> => {
  const path = resolve(file);
  const data = resolve(dirname(path), dataset);
  if (!isDatabase(dataset) && existsSync(data) && statSync(data).isFile())
    throw new OperatorError(
      `${data} is a file. Name a dataset directory or a database such as data.db with --dataset.`,
    );
  const opened = existsSync(join(data, MANIFEST_FILE)) ? await openDirectory(data) : undefined;
  const fitting = opened && (await fittingPlugins(opened));
  const advice = sqliteAdvice(opened ? rowsOf(opened) : 0);
  const database = databaseIn(data, dataset);
  const folder = database === undefined ? dataset : dirname(database);
  const declarations = resolve(dirname(path), folder);
  const isDeclared = (fitting || database !== undefined) && hasDeclarations(declarations);
  const tables = isDeclared ? readDeclarations(declarations).map(({ name }) => name) : [];
  const embedded = JSON.parse(await readFile(join(packageRoot, 'config/default.json'), 'utf8'));
  const $schema = await schemaReference(dirname(path));
  const general = ['status', 'docs'];
  const others: readonly string[] = database === undefined ? (fitting?.plugins ?? embedded.plugins) : general;
  const hasOnlyTables = tables.length > 0 && others.every((name) => general.includes(name));
  const starter = {
    ...embedded,
    $schema,
    ...(hasOnlyTables && { service: { title: titleOf(tables) } }),
    server: { host: '127.0.0.1', port: 8080 },
    adapter: database === undefined ? { use: 'json', options: { path: dataset } } : inDatabase(database),
    plugins: [...(tables.length > 0 ? [{ use: 'tables', options: { path: folder } }, 'table-pages'] : []), ...others],
    auth: {
      ...(isPublic && PUBLIC),
      keys: database === undefined ? { use: 'file', options: { path: 'keys.json' } } : inDatabase(database),
    },
  };
  try {
    await writeFile(path, `${toJson(starter)}\n`, { flag: 'wx' });
  } catch (cause) {
    // An incomplete file is removed, because the next `init` would refuse to overwrite it.
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') await rm(path, { force: true }).catch(() => undefined);
    throw new OperatorError(`${path} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
  const unserved = (fitting?.unserved ?? []).filter((name) => !tables.includes(name));
  const place = { file, path, data, dataset, public: isPublic };
  const hasData = fitting !== undefined || tables.length > 0;
  const withData = [`Wrote ${path}. It serves the dataset in ${data}. Next:`];
  print(
    [
      ...(hasData ? withData : database === undefined ? withoutData(place) : [...withData, importStep(data)]),
      ...(unserved.length > 0
        ? [
            `  to serve ${unserved.join(', ')}, add "tables" and "table-pages" to "plugins" (docs/tutorials/first-service.md), or write a plugin: "metro-forecast new plugin NAME" writes a template`,
          ]
        : []),
      ...(tables.length + unserved.length > 0
        ? ['  set the title, summary and contact of your service in "service"']
        : []),
      `  ${commandLine(file, 'keys', 'create', '--name', 'NAME')}`,
      `  ${commandLine(file, 'start')}`,
      ...(advice ? [advice] : []),
      ...($schema ? [] : ['For editors: metro-forecast config --schema > schema.json, and "$schema": "./schema.json"']),
    ].join('\n'),
  );
};

export const register = (command: Command): void => {
  command
    .argument('[file]', 'the file to write', CONFIG_FILE)
    .option('--dataset <dir>', `the dataset directory or database, relative to the file's folder`, 'dataset')
    .option(
      '--public',
      `let callers without a key read everything, ${PUBLIC.tiers.public.requestsPerMinute} requests per minute for each address`,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ metro-forecast init metro-forecast.json --dataset data/fhfa
  $ metro-forecast init api.json --dataset dataset --public

Exit codes: ${EXIT_CODES}.`,
    )
    .action(writeStarter);
};
