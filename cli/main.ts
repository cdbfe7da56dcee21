/** The command line: one file a command, and one place where faults become messages and exit codes. */
import { Command } from 'commander';
import { packageVersion } from '../core/package-root.js';
import { register as registerCompletion } from './completion.js';
import { register as registerConfig } from './config.js';
import { register as registerDoctor } from './doctor.js';
import { register as registerForecast } from './forecast.js';
import { register as registerImport } from './import.js';
import { register as registerKeys } from './keys.js';
import { register as registerMcp } from './mcp.js';
import { register as registerNew } from './new.js';
import { register as registerPublish } from './publish.js';
import { EXIT_CODES, errorText, report } from './report.js';
import { register as registerSnapshots } from './snapshots.js';
import { register as registerStart } from './start.js';
import { register as registerTypes } from './types.js';
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
  registerDoctor,
  registerNew,
  registerTypes,
  registerMcp,
  registerCompletion,
];

/** @param json whether wrong usage is told as JSON */
export const createProgram = (json = false): Command => {
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
  for (const register of COMMANDS) register(program);
  return program;
};

export const main = async (argv: readonly string[]): Promise<void> => {
  const json = argv.includes('--json');
  try {
    await createProgram(json).parseAsync([...argv]);
  } catch (error) {
    const { text, exitCode } = report(error, { json, debug: Boolean(process.env['METRO_DEBUG']) });
    process.stderr.write(text);
    process.exitCode = exitCode;
  }
};
