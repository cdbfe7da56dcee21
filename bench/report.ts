/** Keeps what was measured: JSON for programs, Markdown and a chart for people. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { barChart } from './chart.js';
import { ROUTE_TITLES, ROUTES, SERVICE } from './contenders.js';
import { type Machine, machineLine } from './machine.js';
import { SECTIONS, type SectionName, type Settings } from './settings.js';
import { formatTable, type SectionReport } from './table.js';

/** A section, and where and how it was measured: sections of one report may come from several runs. */
export interface MeasuredSection extends SectionReport {
  readonly at: string;
  readonly settings: Settings;
  readonly machine: Machine;
}

export type Results = Partial<Record<SectionName, MeasuredSection>>;

const CHARTED_CONNECTIONS = 32;

const heading = (name: SectionName): string => `## ${name[0]!.toUpperCase()}${name.slice(1)}`;

const provenance = ({ at, settings, machine }: MeasuredSection): string =>
  `${settings.mode === 'quick' ? '**Quick run: not to be quoted.** ' : ''}${at.slice(0, 10)}, ${settings.rounds} rounds of ` +
  `${settings.seconds} s each. ${machineLine(machine)}.`;

export const formatSection = (name: SectionName, section: MeasuredSection): string =>
  [
    heading(name),
    provenance(section),
    ...section.tables.map(formatTable),
    section.notes.map((note) => `- ${note}`).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');

const formatResults = (results: Results): string => {
  const sections = SECTIONS.flatMap((name) => {
    const section = results[name];
    return section ? [formatSection(name, section)] : [];
  });
  const preface =
    'Written by `npm run bench`. The server under test has one core; the load generator, Redis and MongoDB have another.';
  return `# Benchmark\n\n${preface}\n\n${sections.join('\n\n')}\n`;
};

const chartOf = (section: MeasuredSection): string =>
  barChart({
    title: `Requests per second, ${CHARTED_CONNECTIONS} connections, server on one core`,
    notes: [`${machineLine(section.machine)}.`, `${SERVICE}: all features on.`],
    panels: ROUTES.flatMap((route) => {
      const title = `${ROUTE_TITLES[route]}, ${CHARTED_CONNECTIONS} connections`;
      const table = section.tables.find((candidate) => candidate.title === title);
      return table ? [{ ...table, title: ROUTE_TITLES[route] }] : [];
    }),
    highlight: SERVICE,
  });

const readResults = async (path: string): Promise<Results> => {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Results;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
};

/** Writes `latest.json`, `latest.md` and `throughput.svg`; sections that were not measured this time stay. */
export const writeResults = async (folder: string, measured: Results): Promise<void> => {
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'latest.json');
  const results = { ...(await readResults(path)), ...measured };
  await writeFile(path, `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(join(folder, 'latest.md'), formatResults(results));
  if (results.throughput) await writeFile(join(folder, 'throughput.svg'), chartOf(results.throughput));
};
