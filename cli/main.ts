/** The command line: one file per command, and one place that turns errors into messages and exit codes. */
import { Command } from 'commander';
import { fileErrorReason } from '../core/util/error-reason.js';
import { packageVersion } from '../core/util/package.js';
import { write, writeError } from './output.js';
import { EXIT_CODES, errorText, report } from './report.js';
import { handleSignals } from './signals.js';

/** Only the command that is run is loaded. */
const COMMANDS = {
  start: () => {
    // As process 1 of a container it ignores signals that it does not handle.
    handleSignals();
    return import('./commands/start.js');
  },
  ready: () => import('./commands/ready.js'),
  config: () => import('./commands/config.js'),
  init: () => import('./commands/init.js'),
  keys: () => import('./commands/keys.js'),
  import: () => import('./commands/import.js'),
  'import-table': () => import('./commands/import-table.js'),
  forecast: () => import('./commands/forecast.js'),
  validate: () => import('./commands/validate.js'),
  publish: () => import('./commands/publish.js'),
  snapshots: () => import('./commands/snapshots.js'),
  doctor: () => import('./commands/doctor.js'),
  new: () => import('./commands/new.js'),
  types: () => import('./commands/types.js'),
  mcp: () => import('./commands/mcp.js'),
  completion: () => import('./commands/completion.js'),
} satisfies Record<string, () => Promise<{ register(program: Command): void }>>;

type CommandName = keyof typeof COMMANDS;

/** Other names of commands. */
const ALIASES: Readonly<Record<string, CommandName>> = { 'import-csv': 'import-table' };

const NAMES = Object.keys(COMMANDS) as CommandName[];

/**
 * The commands that the arguments may mean: the named ones, all without a name or for completion, none for the version.
 */
export const commandsIn = (argv: readonly string[]): readonly CommandName[] => {
  if (argv.length === 3 && /^(-V|--version)$/.test(argv[2]!)) return [];
  const named = NAMES.filter((name) => argv.some((word) => word === name || ALIASES[word] === name));
  return named.length === 0 || named.includes('completion') ? NAMES : named;
};

/** @param json whether wrong usage is reported as JSON */
export const createProgram = async (names: readonly CommandName[] = NAMES, json = false): Promise<Command> => {
  const program = new Command('metro-forecast')
    .description('Publish a dataset as a fast, read-only HTTP API.')
    .version(packageVersion)
    .option('-c, --config <file>', 'configuration file (default: METRO_CONFIG, else the embedded one)')
    .exitOverride()
    .addHelpText('after', `\nExit codes: ${EXIT_CODES}.`);
  program.configureOutput({
    writeOut: write,
    writeErr: writeError,
    outputError: (text, show) => show(json ? errorText(text.trim().replace(/^error: /, ''), [], { json }) : text),
  });
  for (const name of names) (await COMMANDS[name]()).register(program);
  return program;
};

/** A full disk or a closed terminal ends no command: it completes its work, and fails if its results are lost. */
const onResultsLost = (error: NodeJS.ErrnoException): void => {
  // The reader may close a pipe early, as "| head" does.
  if (error.code === 'EPIPE') return;
  process.exitCode = 1;
  writeError(`The output cannot be written: ${fileErrorReason(error)}.\n`);
};

export const main = async (argv: readonly string[]): Promise<void> => {
  const json = argv.includes('--json');
  process.stdout.on('error', onResultsLost);
  // There is no other place to report it.
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
