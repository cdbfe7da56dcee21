/** `npm run bench`: measures the service beside its contenders, and reports. */
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { OperatorError } from '../core/errors.js';
import { packageRoot } from '../core/util/package.js';
import { type Bench, withBench } from './bench.js';
import { keepCoresAwake } from './idle-cores.js';
import { describeMachine } from './machine.js';
import { stayOnLoadCore } from './pinned-process.js';
import { checkPrerequisites, installContenders } from './prerequisites.js';
import { formatSection, type MeasuredSection, type Results, writeResults, writeSpeedText } from './report.js';
import { daySection } from './sections/day.js';
import { keysSection } from './sections/keys.js';
import { mongoSection } from './sections/mongo.js';
import { publishing } from './sections/publishing.js';
import { scale } from './sections/scale.js';
import { throughput } from './sections/throughput.js';
import { versions } from './sections/versions.js';
import { workers } from './sections/workers.js';
import { FULL, QUICK, SECTIONS, type SectionName, type Settings, VERSIONS } from './settings.js';
import type { SectionReport } from './table.js';

const sections: Readonly<Record<SectionName, (bench: Bench) => Promise<SectionReport>>> = {
  day: daySection,
  keys: keysSection,
  throughput,
  mongo: mongoSection,
  scale,
  workers,
  publishing,
  versions,
};

interface Options {
  readonly only?: SectionName;
  readonly quick?: boolean;
  readonly rounds?: number;
  readonly seconds?: number;
  readonly scales?: readonly number[];
  readonly against?: string;
  readonly out: string;
}

const RESULTS = join(packageRoot, 'bench/results');

const positive = (text: string): number => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('It must be an integer from 1.');
  return number;
};

const positives = (text: string): number[] => text.split(',').map(positive);

const run = async ({ only, quick, out, ...given }: Options): Promise<void> => {
  checkPrerequisites();
  stayOnLoadCore();
  installContenders();
  const settings: Settings = { ...(quick ? QUICK : FULL), ...given };
  const machine = describeMachine(keepCoresAwake());
  const measured: Partial<Record<SectionName, MeasuredSection>> = {};
  await withBench(settings, async (bench) => {
    for (const name of only ? [only] : SECTIONS) {
      const report = await sections[name](bench);
      const section = { at: new Date().toISOString(), settings, machine, ...report };
      measured[name] = section;
      process.stdout.write(`\n${formatSection(name, section)}\n`);
    }
  });
  const results = await writeResults(out, measured satisfies Results);
  if (out === RESULTS) await writeSpeedText(join(packageRoot, 'README.md'), results);
  process.stderr.write(`\nWritten to ${out}\n`);
};

const program = new Command('bench')
  .description('Measures the service beside its contenders on the same data, and writes a report.')
  .addOption(new Option('--only <section>', 'one section').choices([...SECTIONS, VERSIONS]))
  .option('--quick', 'all sections in a few minutes: to see that they work, not to be quoted')
  .option('--rounds <n>', 'turns of each contender', positive)
  .option('--seconds <n>', 'length of a turn', positive)
  .option('--scales <list>', 'multiples of the data, as in 1,10,100', positives)
  .option(
    '--against <folder>',
    'of another version, installed and built, beside this one in day, keys, throughput and "versions"',
  )
  .option('--out <folder>', 'where the report is written; elsewhere the README stays as it is', RESULTS)
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  const text = error instanceof OperatorError ? error.message : error instanceof Error ? error.stack : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `\n${error.cause.message}` : '';
  process.stderr.write(`${text}${cause}\n`);
  process.exitCode = 1;
}
