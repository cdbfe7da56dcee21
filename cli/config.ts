/** `metro-forecast config` shows the configuration in force; `metro-forecast init` writes one to begin with. */
import { existsSync } from 'node:fs';
import { readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import { loadConfig, namedVariables } from '../app/load-config.js';
import { loadModules } from '../app/load-modules.js';
import { configSchema } from '../core/config/schema.js';
import { maskSecrets } from '../core/config/secrets.js';
import { openDirectory } from '../core/dataset/directory.js';
import { MANIFEST_FILE } from '../core/dataset/manifest.js';
import { OperatorError } from '../core/errors.js';
import { fileErrorReason } from '../core/files/error-reason.js';
import { packageName, packageRoot } from '../core/files/package.js';
import { formatPath } from '../core/validation/path.js';
import { fittingPlugins } from './fitting-plugins.js';
import { commandLine } from './options.js';
import { print, printJson, toJson } from './output.js';
import { EXIT_CODES } from './report.js';

const showConfig = async (_: unknown, command: Command): Promise<void> => {
  const options = command.optsWithGlobals<{ config?: string; json?: boolean; schema?: boolean }>();
  if (options.schema) {
    printJson(configSchema);
    return;
  }
  const loaded = await loadConfig({ path: options.config, env: process.env });
  const { config, path, embedded, overrides } = loaded;
  // Loading the modules tells which options are secret, and fills the options' defaults into `config`.
  const { adapter, keyStore, registry } = await loadModules(loaded);
  const masked = maskSecrets(config, {
    adapter: adapter.options,
    keys: keyStore.options,
    plugins: registry.plugins.map((plugin) => plugin.options),
  });
  // `service` completed by the defaults of plugins and framework; not by the history of the interface, which is long.
  const { changes: _changes, ...service } = registry.service;
  const shown = { ...masked, service: { ...service, ...masked.service } };
  if (options.json) {
    printJson({ path, embedded, overrides, config: shown });
    return;
  }
  const width = Math.max(0, ...overrides.map((override) => override.path.length));
  const sources = overrides.map((override) => `  ${override.path.padEnd(width)}  ${override.variable}`);
  process.stderr.write(
    [
      `${path}${embedded ? ' (embedded)' : ''}, secrets masked`,
      ...(sources.length > 0 ? ['From the environment:', ...sources] : []),
      '',
    ].join('\n'),
  );
  printJson(shown);
};

const SCHEMA = 'config/schema.json';

/**
 * The value of `$schema`, so that editors find it: a path that stays right with the project that the folder is in, which
 * has the package installed or is its checkout. Undefined elsewhere: a path into a global installation or a cache of
 * packages breaks when the file is copied, or the package updated.
 */
const schemaReference = async (folder: string): Promise<string | undefined> => {
  // Editors resolve `..` by the real folder.
  const real = await realpath(folder).catch(() => folder);
  const ancestors = [real];
  while (dirname(ancestors.at(-1)!) !== ancestors.at(-1)) ancestors.push(dirname(ancestors.at(-1)!));
  const found = ancestors
    .flatMap((at) => [join(at, 'node_modules', packageName, SCHEMA), ...(at === packageRoot ? [join(at, SCHEMA)] : [])])
    .find((each) => existsSync(each));
  const path = found && relative(real, found).split(sep).join('/');
  return path && !path.startsWith('.') ? `./${path}` : path;
};

const writeStarter = async (file: string, { dataset }: { dataset: string }): Promise<void> => {
  const path = resolve(file);
  const data = resolve(dirname(path), dataset);
  const fitting = existsSync(join(data, MANIFEST_FILE)) ? await fittingPlugins(await openDirectory(data)) : undefined;
  const embedded = JSON.parse(await readFile(join(packageRoot, 'config/default.json'), 'utf8'));
  const $schema = await schemaReference(dirname(path));
  const starter = {
    ...embedded,
    $schema,
    server: { host: '127.0.0.1', port: 8080 },
    adapter: { use: 'json', options: { path: dataset } },
    plugins: fitting?.plugins ?? embedded.plugins,
    auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
  };
  try {
    await writeFile(path, `${toJson(starter)}\n`, { flag: 'wx' });
  } catch (cause) {
    throw new OperatorError(`${path} cannot be written: ${fileErrorReason(cause)}.`, [], { cause });
  }
  const unserved = fitting?.unserved ?? [];
  print(
    [
      `${path} is written. It serves the dataset in ${data}. Next:`,
      ...(fitting ? [] : [`  ${commandLine(undefined, 'import', 'SOURCE...', '--to', data)}`]),
      ...(unserved.length > 0
        ? [
            `  for ${unserved.join(', ')} name "tables" and "table-pages" in "plugins" (docs/own-csv.md), or write a plugin: "metro-forecast new plugin NAME" begins one`,
            '  say in "service" who the service is: its title, summary and contact',
          ]
        : []),
      `  ${commandLine(file, 'keys', 'create', '--name', 'NAME')}`,
      `  ${commandLine(file, 'start')}`,
      ...($schema ? [] : ['For editors: metro-forecast config --schema > schema.json, and "$schema": "./schema.json"']),
    ].join('\n'),
  );
};

/** One line for each variable, with what it sets. */
const variables = (): string => {
  const settings = new Map<string, string[]>();
  const add = (variable: string, text: string) => settings.set(variable, [...(settings.get(variable) ?? []), text]);
  add('METRO_CONFIG', 'the file, unless --config names one');
  for (const { variable, path, when, secret } of namedVariables) {
    add(variable, `${formatPath(path)}${when ? ` where ${formatPath(when.at)} is "${when.use}"` : ''}`);
    if (secret) settings.set(`${variable}_FILE`, [`a file that holds ${variable}`]);
  }
  add('METRO__SECTION__NAME', 'any other setting, JSON or text: METRO__LIMITS__REQUESTS_PER_MINUTE=1200,');
  add('METRO__SECTION__NAME', 'METRO__PLUGINS__5=./my-plugin.js, METRO__ADAPTER__OPTIONS__POLL_MS=500');
  add('METRO__..._FILE', 'a file that holds METRO__...; not of names in "options", which are the module\'s');
  const width = Math.max(...[...settings.keys()].map(({ length }) => length));
  return [...settings]
    .flatMap(([variable, texts]) => texts.map((text, i) => `  ${(i === 0 ? variable : '').padEnd(width)}  ${text}`))
    .join('\n');
};

export const register = (program: Command): void => {
  program
    .command('config')
    .description('show the configuration in force, with secrets masked')
    .option('--json', 'print JSON for machines, with the source of each value from the environment')
    .option('--schema', 'print the JSON Schema of configuration files instead')
    .addHelpText(
      'after',
      `
Environment variables go over the file:
${variables()}
An empty variable counts as absent.

Examples:
  $ metro-forecast config
  $ METRO__LIMITS__REQUESTS_PER_MINUTE=1200 metro-forecast --config api.json config --json
  $ metro-forecast config --schema > metro-forecast.schema.json

Exit codes: ${EXIT_CODES}.`,
    )
    .action(showConfig);

  program
    .command('init')
    .description(
      'write a configuration to begin with, with the plugins that fit the dataset; never over an existing file',
    )
    .argument('[file]', 'where to', 'metro-forecast.json')
    .option('--dataset <dir>', `the dataset directory, relative to the file's folder`, 'data')
    .addHelpText(
      'after',
      `
Example:
  $ metro-forecast init metro-forecast.json --dataset data/fhfa

Exit codes: ${EXIT_CODES}.`,
    )
    .action(writeStarter);
};
