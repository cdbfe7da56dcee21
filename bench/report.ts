/** Keeps what was measured: JSON for programs, Markdown, a chart and a part of the README for people. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { barChart } from './chart.js';
import { EXPRESS, FASTIFY, KOA, SERVICE } from './contenders.js';
import { type Machine, machineLine } from './machine.js';
import { DAY_TITLE } from './sections/day.js';
import { EXACTNESS_TITLE, HUGE_KEY_TITLE, USUAL_KEYS_TITLE } from './sections/keys.js';
import { SECTIONS, type SectionName, type Settings, VERSIONS } from './settings.js';
import { type Cell, formatCell, formatRows, formatTable, type SectionReport, type Table } from './table.js';

/** A section, and where and how it was measured: sections of one report may come from several runs. */
export interface MeasuredSection extends SectionReport {
  readonly at: string;
  readonly settings: Settings;
  readonly machine: Machine;
}

export type Results = Partial<Record<SectionName, MeasuredSection>>;

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

/** Who stands in the chart and in the README: all do the same. */
const TOLD = [SERVICE, FASTIFY, KOA, EXPRESS];

/** What the chart and the README tell, the usual before the unusual. */
const PANELS = [
  { section: 'day', title: DAY_TITLE, label: "A user's day" },
  { section: 'keys', title: USUAL_KEYS_TITLE, label: 'One market, 5,000 keys' },
  { section: 'keys', title: HUGE_KEY_TITLE, label: 'One market, one huge key' },
] as const;

const tableIn = (results: Results, section: SectionName, title: string): Table | undefined =>
  results[section]?.tables.find((table) => table.title === title);

const rowsOf = ({ rows }: Table): readonly (readonly Cell[])[] =>
  TOLD.flatMap((name) => rows.filter(([first]) => first === name));

/** @returns undefined while one of its tables has not been measured */
const panelsOf = (results: Results): readonly Table[] | undefined => {
  const panels = PANELS.flatMap(({ section, title, label }) => {
    const table = tableIn(results, section, title);
    return table ? [{ ...table, title: label, rows: rowsOf(table) }] : [];
  });
  return panels.length === PANELS.length ? panels : undefined;
};

const chartOf = (panels: readonly Table[], { machine }: MeasuredSection): string =>
  barChart({
    title: 'Requests per second, everything on, limits on Redis, 32 connections, server on one core',
    notes: [`${machineLine(machine)}.`],
    panels,
    highlight: SERVICE,
  });

const SPEED = { begin: '<!-- written by `npm run bench` -->', end: '<!-- end of what is written -->' };

/**
 * The README's figures: requests a second, and how exact the limits are.
 * @returns undefined while something of it has not been measured
 */
export const speedText = (results: Results): string | undefined => {
  const panels = panelsOf(results);
  const exactness = tableIn(results, 'keys', EXACTNESS_TITLE);
  if (!panels || !exactness) return undefined;
  const mosts = rowsOf(exactness).map(([name, most]) => `${name} ${formatCell(most ?? null)}`);
  const rows = TOLD.map((name, i) => [name, ...panels.map((panel) => panel.rows[i]?.[1] ?? null)]);
  return [
    `Of a limit of 600 a minute, one key got through within 60 seconds at most: ${mosts.join(', ')}.`,
    formatRows(['Requests a second', ...panels.map(({ title }) => title)], rows),
  ].join('\n\n');
};

/** @returns the README with the text between its marks replaced */
export const withSpeedText = (readme: string, text: string): string => {
  const begin = readme.indexOf(SPEED.begin);
  const end = readme.indexOf(SPEED.end);
  if (begin === -1 || end < begin) throw new Error(`The README has no ${SPEED.begin} before ${SPEED.end}.`);
  return `${readme.slice(0, begin + SPEED.begin.length)}\n\n${text && `${text}\n\n`}${readme.slice(end)}`;
};

/** Results of a section that has been deleted since are dropped. */
const isSection = (name: string): boolean => [...SECTIONS, VERSIONS].includes(name as SectionName);

export const readResults = async (path: string): Promise<Results> => {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Results;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
};

/**
 * Writes `latest.json`, `latest.md` and `throughput.svg`; sections that were not measured this time stay.
 * @returns all results
 */
export const writeResults = async (folder: string, measured: Results): Promise<Results> => {
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'latest.json');
  const earlier = Object.entries(await readResults(path)).filter(([name]) => isSection(name));
  const results: Results = { ...Object.fromEntries(earlier), ...measured };
  await writeFile(path, `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(join(folder, 'latest.md'), formatResults(results));
  const panels = panelsOf(results);
  if (panels && results.day) await writeFile(join(folder, 'throughput.svg'), chartOf(panels, results.day));
  return results;
};

/** Writes the README's figures, unless they come from a quick run. */
export const writeSpeedText = async (readme: string, results: Results): Promise<void> => {
  const text = speedText(results);
  const quick = [results.day, results.keys].some((section) => section?.settings.mode === 'quick');
  if (text && !quick) await writeFile(readme, withSpeedText(await readFile(readme, 'utf8'), text));
};
