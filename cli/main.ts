/**
 * The command-line program. Each command is in a separate file. This file turns errors into messages and exit codes.
 */
import { Command, Help } from 'commander';
import { fileErrorReason } from '../core/util/error-reason.js';
import { packageVersion } from '../core/util/package.js';
import { write, writeError } from './output.js';
import { EXIT_CODES, errorText, report } from './report.js';
import { handleSignals } from './signals.js';

interface CommandModule {
  register(command: Command): void;
}

/** Only the requested command is loaded, so that the program starts fast. Help needs only the descriptions. */
const COMMANDS = {
  start: [
    'serve the configured API until SIGTERM or SIGINT',
    async () => {
      // Process 1 of a container ignores signals that have no handler.
      handleSignals();
      const { pauseOptimization } = await import('./engine.js');
      pauseOptimization();
      return import('./commands/start.js');
    },
  ],
  reload: [
    'make the running service reload its configuration, and wait for the result',
    () => import('./commands/reload.js'),
  ],
  ready: ['check whether the service on this machine is ready for requests', () => import('./commands/ready.js')],
  config: ['show the configuration in effect, with secrets masked', () => import('./commands/config.js')],
  init: [
    'write a first configuration with the plugins that fit the dataset; never overwrites a file',
    () => import('./commands/init.js'),
  ],
  keys: ['manage API keys', () => import('./commands/keys.js')],
  import: [
    "import FHFA's metro index and FRED's series into a dataset directory",
    () => import('./commands/import.js'),
  ],
  'import-table': [
    'import a table into a dataset directory, for the plugin "tables"',
    () => import('./commands/import-table.js'),
  ],
  forecast: [
    "add a model's runs to a dataset directory, for quarters without a run",
    () => import('./commands/forecast.js'),
  ],
  validate: [
    'check a dataset directory: files, schemas, keys, order, references, calendar, numbers, bounds',
    () => import('./commands/validate.js'),
  ],
  publish: [
    'check a dataset directory and make it the current snapshot of the configured storage',
    () => import('./commands/publish.js'),
  ],
  snapshots: ['list published versions, activate one, or delete old ones', () => import('./commands/snapshots.js')],
  export: [
    'write a backup: all versions, the keys as hashes, both audit logs and the configuration without secrets',
    () => import('./commands/export.js'),
  ],
  'import-backup': [
    'restore a backup into the configured storage and key store',
    () => import('./commands/import-backup.js'),
  ],
  doctor: [
    'check Node, the configuration, file permissions, storage and its files, every row of the dataset, keys, Redis and the port',
    () => import('./commands/doctor.js'),
  ],
  new: [
    'write a small, working package for a new plugin, adapter, key store or format',
    () => import('./commands/new.js'),
  ],
  types: ['print the TypeScript types of the API, including your plugins', () => import('./commands/types.js')],
  mcp: [
    'serve the endpoints as tools to an AI assistant over standard input and output',
    () => import('./commands/mcp.js'),
  ],
  completion: [
    'print a script that completes commands and options in a shell',
    () => import('./commands/completion.js'),
  ],
} as const satisfies Record<string, readonly [description: string, load: () => Promise<CommandModule>]>;

type CommandName = keyof typeof COMMANDS;

const ALIASES: Readonly<Record<string, CommandName>> = { 'import-csv': 'import-table' };

const NAMES = Object.keys(COMMANDS) as CommandName[];

/** Returns the commands to load: all for completion, and none for help and the version. */
export const commandsIn = (argv: readonly string[]): readonly CommandName[] => {
  const named = NAMES.filter((name) => argv.some((word) => word === name || ALIASES[word] === name));
  return named.includes('completion') ? NAMES : named;
};

export const createProgram = async (names: readonly CommandName[] = NAMES, json = false): Promise<Command> => {
  const program = new Command('metro-forecast')
    .description('Publish a dataset as a fast, read-only HTTP API.')
    .version(packageVersion)
    .option('-c, --config <file>', 'configuration file (default: METRO_CONFIG, or else the embedded configuration)')
    .exitOverride()
    .addHelpText('after', `\nExit codes: ${EXIT_CODES}.`);
  program.configureOutput({
    writeOut: write,
    writeErr: writeError,
    outputError: (text, show) => show(json ? errorText(text.trim().replace(/^error: /, ''), [], { json }) : text),
  });
  program.configureHelp({
    // Only names are shown, because the arguments of commands that are not loaded are unknown.
    subcommandTerm: (command) => (command.parent === program ? command.name() : Help.prototype.subcommandTerm(command)),
  });
  for (const name of names.length > 0 ? names : NAMES) {
    const [description, load] = COMMANDS[name];
    const command = program.command(name).description(description);
    if (names.length > 0) (await load()).register(command);
  }
  for (const [alias, name] of Object.entries(ALIASES))
    program.commands.find((each) => each.name() === name)?.alias(alias);
  return program;
};

/** If output cannot be written, for example to a full disk, the command still finishes its work and then fails. */
const onResultsLost = (error: NodeJS.ErrnoException): void => {
  // The reader of a pipe can close it early, as "| head" does.
  if (error.code === 'EPIPE') return;
  process.exitCode = 1;
  writeError(`The output cannot be written: ${fileErrorReason(error)}.\n`);
};

export const main = async (argv: readonly string[]): Promise<void> => {
  const json = argv.includes('--json');
  process.stdout.on('error', onResultsLost);
  // There is nowhere else to report the error.
  process.stderr.on('error', () => undefined);
  try {
    const program = await createProgram(commandsIn(argv), json);
    await program.parseAsync([...argv]);
  } catch (error) {
    const { text, exitCode } = report(error, { json, debug: Boolean(process.env['METRO_DEBUG']) });
    writeError(text);
    process.exitCode = exitCode;
  }
};
