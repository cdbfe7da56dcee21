import type { Command } from 'commander';
import { maskedConfig } from '../../core/app/load-modules.js';
import { configSchema } from '../../core/config/schema.js';
import { formatPath } from '../../core/validation/path.js';
import { loadConfig, loadModules, namedVariables } from '../../product.js';
import { note, printJson } from '../output.js';
import { EXIT_CODES } from '../report.js';

const showConfig = async (_: unknown, command: Command): Promise<void> => {
  const options = command.optsWithGlobals<{ config?: string; json?: boolean; schema?: boolean }>();
  if (options.schema) {
    printJson(configSchema);
    return;
  }
  const loaded = await loadConfig({ path: options.config });
  const { path, embedded, overrides } = loaded;
  const modules = await loadModules(loaded);
  const masked = maskedConfig(loaded, modules);
  // The list of API changes is omitted because it is long.
  const { changes: _changes, ...info } = modules.registry.info;
  const shown = { ...masked, service: { ...info, ...masked.service } };
  if (options.json) {
    printJson({ path, embedded, overrides, config: shown });
    return;
  }
  const width = Math.max(0, ...overrides.map((override) => override.path.length));
  const sources = overrides.map((override) => `  ${override.path.padEnd(width)}  ${override.variable}`);
  note(`${path}${embedded ? ' (embedded)' : ''}, secrets masked`);
  if (sources.length > 0) note(['From the environment:', ...sources].join('\n'));
  printJson(shown);
};

const variables = (): string => {
  const settings = new Map<string, string[]>();
  const add = (variable: string, text: string) => settings.set(variable, [...(settings.get(variable) ?? []), text]);
  add('METRO_CONFIG', 'the configuration file, unless --config is given');
  for (const { variable, path, when, secret } of namedVariables) {
    add(variable, `${formatPath(path)}${when ? ` if ${formatPath(when.at)} is "${when.use}"` : ''}`);
    if (secret) settings.set(`${variable}_FILE`, [`a file that contains ${variable}`]);
  }
  add('METRO__SECTION__NAME', 'any other setting, JSON or text: METRO__LIMITS__REQUESTS_PER_MINUTE=1200,');
  add('METRO__SECTION__NAME', 'METRO__PLUGINS__5=./my-plugin.js, METRO__ADAPTER__OPTIONS__POLL_MS=500');
  add('METRO__..._FILE', 'a file that contains METRO__...; in "options", _FILE is part of the name');
  const width = Math.max(...[...settings.keys()].map(({ length }) => length));
  return [...settings]
    .flatMap(([variable, texts]) => texts.map((text, i) => `  ${(i === 0 ? variable : '').padEnd(width)}  ${text}`))
    .join('\n');
};

export const register = (command: Command): void => {
  command
    .option('--json', 'print JSON for machines, with the source of each value from the environment')
    .option('--schema', 'print the JSON Schema of configuration files instead')
    .addHelpText(
      'after',
      `
Environment variables override the file:
${variables()}
Empty variables are ignored.

Examples:
  $ metro-forecast config
  $ METRO__LIMITS__REQUESTS_PER_MINUTE=1200 metro-forecast --config api.json config --json
  $ metro-forecast config --schema > metro-forecast.schema.json

Exit codes: ${EXIT_CODES}.`,
    )
    .action(showConfig);
};
