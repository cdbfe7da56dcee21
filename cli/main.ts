/** The command line: one file a command, and one place where faults become messages and exit codes. */
import { Command } from 'commander';
import { packageVersion } from '../core/package-root.js';
import { EXIT_CODES, errorText, report } from './report.js';

/** Loaded when they are asked for: `start` would hold the memory of all the others as long as it serves. */
const COMMANDS = {
  start: () => import('./start.js'),
  config: () => import('./config.js'),
  keys: () => import('./keys.js'),
  import: () => import('./import.js'),
  forecast: () => import('./forecast.js'),
  validate: () => import('./validate.js'),
  publish: () => import('./publish.js'),
  snapshots: () => import('./snapshots.js'),
  doctor: () => import('./doctor.js'),
  new: () => import('./new.js'),
  types: () => import('./types.js'),
  mcp: () => import('./mcp.js'),
  completion: () => import('./completion.js'),
} satisfies Record<string, () => Promise<{ register(program: Command): void }>>;

type CommandName = keyof typeof COMMANDS;

const NAMES = Object.keys(COMMANDS) as CommandName[];

/** All that may be meant: where it is none of them, or completion is asked for, that takes all. */
const commandsIn = (argv: readonly string[]): readonly CommandName[] => {
  const named = NAMES.filter((name) => argv.includes(name));
  return named.length === 0 || named.includes('completion') ? NAMES : named;
};

/** @param json whether wrong usage is told as JSON */
export const createProgram = async (names: readonly CommandName[] = NAMES, json = false): Promise<Command> => {
  const program = new Command('metro-forecast')
    .description('Publish a dataset as a fast, read-only HTTP API.')
    .version(packageVersion)
    .option('-c, --config <file>', 'configuration file (default: METRO_CONFIG, else the embedded one)')
    .exitOverride()
    .addHelpText('after', `\nExit codes: ${EXIT_CODES}.`);
  if (json) {
    program.configureOutput({
      outputError: (text, write) => write(errorText(text.trim().replace(/^error: /, ''), [], { json })),
    });
  }
  for (const name of names) (await COMMANDS[name]()).register(program);
  return program;
};

export const main = async (argv: readonly string[]): Promise<void> => {
  const json = argv.includes('--json');
  try {
    const program = await createProgram(commandsIn(argv), json);
    await program.parseAsync([...argv]);
  } catch (error) {
    const { text, exitCode } = report(error, { json, debug: Boolean(process.env['METRO_DEBUG']) });
    process.stderr.write(text);
    process.exitCode = exitCode;
  }
};
