/** The command line: one file a command, and one place where faults become messages and exit codes. */
import { Command, CommanderError } from 'commander';
import { OperatorError, StorageError } from '../core/errors.js';
import { packageVersion } from '../core/package-root.js';
import { register as registerConfig } from './config.js';
import { register as registerForecast } from './forecast.js';
import { register as registerImport } from './import.js';
import { register as registerKeys } from './keys.js';
import { register as registerPublish } from './publish.js';
import { register as registerSnapshots } from './snapshots.js';
import { register as registerStart } from './start.js';
import { register as registerValidate } from './validate.js';

const COMMANDS = [
  registerStart,
  registerConfig,
  registerKeys,
  registerImport,
  registerForecast,
  registerValidate,
  registerPublish,
  registerSnapshots,
];

/** Exit codes, the same for every command. */
const FAILED = 1;
const WRONG_USAGE = 2;

export const main = async (argv: readonly string[]): Promise<void> => {
  const program = new Command('metro-forecast')
    .description('Publish a dataset as a fast, read-only HTTP API.')
    .version(packageVersion)
    .option('-c, --config <file>', 'configuration file (default: METRO_CONFIG, else the embedded one)')
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText('after', '\nExit codes: 0 success, 1 failure, 2 wrong usage.');
  for (const register of COMMANDS) register(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
};

const report = (error: unknown): number => {
  // Commander has printed its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof OperatorError || error instanceof StorageError) process.stderr.write(`${error.message}\n`);
  else process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  return FAILED;
};
