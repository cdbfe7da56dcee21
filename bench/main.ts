/** `npm run bench` compares the service with other servers on the same data. */
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import { Command, InvalidArgumentError, Option } from 'commander';
import { OperatorError } from '../core/errors.js';
import { packageRoot } from '../core/util/package.js';
import { FULL, QUICK, type Settings, withBench } from './bench.js';
import { checkMachine, describeMachine, installContenders } from './machine.js';
import { stayOnLoadCore } from './process.js';
import { formatSection, type MeasuredSection, writeResults, writeSpeedText } from './report.js';
import { measureSection, SECTIONS, type SectionName } from './sections.js';

interface Options {
  readonly only?: SectionName;
  readonly quick?: boolean;
  readonly large?: boolean;
  readonly rounds?: number;
  readonly seconds?: number;
  readonly against?: string;
  readonly out: string;
}

const RESULTS = join(packageRoot, 'bench/results');

const positive = (text: string): number => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('It must be a positive integer.');
  return number;
};

const run = async ({ only, quick, out, against, ...given }: Options): Promise<void> => {
  checkMachine();
  stayOnLoadCore();
  installContenders();
  const settings: Settings = { ...(quick ? QUICK : FULL), ...given };
  const machine = describeMachine();
  const measured: Partial<Record<SectionName, MeasuredSection>> = {};
  await withBench(settings, against, async (bench) => {
    for (const name of only ? [only] : SECTIONS) {
      const report = await measureSection(bench, name);
      const section = { at: new Date().toISOString(), settings, machine, ...report };
      measured[name] = section;
      process.stdout.write(`\n${formatSection(name, section)}\n`);
    }
  });
  const results = await writeResults(out, measured);
  if (resolve(out) === RESULTS) await writeSpeedText(join(packageRoot, 'README.md'), results);
  process.stderr.write(`\nResults are in ${out}.\n`);
};

const program = new Command('bench')
  .description('Compares the service with other servers on the same data, and writes a report.')
  .addOption(new Option('--only <section>', 'run one section').choices([...SECTIONS]))
  .option('--quick', 'run everything in a few minutes; do not quote the figures')
  .option('--large', 'also measure 10 million rows in the section rows, which takes an hour')
  .option('--rounds <n>', 'number of turns per contender', positive)
  .option('--seconds <n>', 'duration of a turn', positive)
  .option('--against <folder>', 'also measure another checkout, which must be installed and built')
  .option('--out <folder>', 'where to write the report; only the default changes the README', RESULTS)
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof OperatorError ? error.message : inspect(error)}\n`);
  process.exitCode = 1;
}
