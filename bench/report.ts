import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from './bench.js';
import { barChart } from './chart.js';
import { EXPRESS, FASTIFY, KOA, SERVICE } from './contenders.js';
import { describeMachine, type Machine, machineLine } from './machine.js';
import { lookupsTitle, PAGE, ROW_BY_KEY } from './rows-requests.js';
import type { SectionName, SectionReport } from './sections.js';
import { DAY_TITLE, FEW_KEYS_TITLE, HUGE_KEY_TITLE, SECTIONS } from './sections.js';
import { formatCell, formatTable, type Table } from './table.js';

/** The sections of one report can come from different runs. */
export interface MeasuredSection extends SectionReport {
  readonly at: string;
  readonly settings: Settings;
  readonly machine: Machine;
}

export type Results = Partial<Record<SectionName, MeasuredSection>>;

const origin = ({ at, settings, machine }: MeasuredSection): string =>
  `${settings.mode === 'quick' ? '**Quick run: do not quote.** ' : ''}${at.slice(0, 10)}, ${settings.rounds} rounds of ` +
  `${settings.seconds} s each. ${machineLine(machine)}.`;

export const formatSection = (name: SectionName, section: MeasuredSection): string =>
  [
    `## ${name[0]!.toUpperCase()}${name.slice(1)}`,
    origin(section),
    ...section.tables.map(formatTable),
    section.notes.map((note) => `- ${note}`).join('\n'),
  ].join('\n\n');

const formatResults = (results: Results): string => {
  const preface =
    'Written by `npm run bench`. The measured server has one core; the load generator and Redis share another. The ' +
    'figures are medians of interleaved turns. Spread is (maximum - minimum) / median. CPU is CPU time per request.';
  const sections = SECTIONS.flatMap((name) => (results[name] ? [formatSection(name, results[name])] : []));
  return `# Benchmark\n\n${preface}\n\n${sections.join('\n\n')}\n`;
};

/** The chart shows only contenders with the same features. */
const CHARTED = [SERVICE, FASTIFY, KOA, EXPRESS];

const PANELS = [
  { section: 'day', title: DAY_TITLE, label: 'Realistic mix of requests' },
  { section: 'keys', title: FEW_KEYS_TITLE, label: 'One market, 5,000 keys' },
  { section: 'keys', title: HUGE_KEY_TITLE, label: 'One market, one huge key' },
] as const;

const panelsOf = (results: Results): readonly Table[] | undefined => {
  const panels = PANELS.flatMap(({ section, title, label }) => {
    const table = results[section]?.tables.find((each) => each.title === title);
    if (!table) return [];
    const rows = CHARTED.flatMap((name) => table.rows.filter(([first]) => first === name));
    return [{ ...table, title: label, rows }];
  });
  return panels.length === PANELS.length ? panels : undefined;
};

const rowsText = ({ rows }: Results): string => {
  const lookups = rows?.tables.find(({ title }) => title === lookupsTitle(1_000_000))?.rows ?? [];
  const [row, page] = [ROW_BY_KEY, PAGE].map((name) => lookups.find(([first]) => first === name)?.at(-1));
  if (typeof row !== 'number' || typeof page !== 'number') return '';
  return (
    'Compared with a hand-written server with Fastify and SQLite, the service without a cache takes ' +
    `${row.toFixed(1)} times the CPU time for one of a million rows, and ${page.toFixed(1)} times the CPU time for a ` +
    'page of 100 rows. '
  );
};

export const speedText = (results: Results): string | undefined => {
  const rows = results.day?.tables.find(({ title }) => title === DAY_TITLE)?.rows ?? [];
  const [service, fastify] = [SERVICE, FASTIFY].map((name) => rows.find(([first]) => first === name)?.[1]);
  if (typeof service !== 'number' || typeof fastify !== 'number') return undefined;
  return (
    `With a realistic mix of requests, one core serves ${formatCell(service)} requests per second. This is ` +
    `${(service / fastify).toFixed(1)} times as many as Fastify serves with the same features. ${rowsText(results)}` +
    '[All results](bench/results/latest.md)'
  );
};

const MARKS = { begin: '<!-- written by `npm run bench` -->', end: '<!-- end of the benchmark -->' };

export const withSpeedText = (readme: string, text: string): string => {
  const begin = readme.indexOf(MARKS.begin);
  const end = readme.indexOf(MARKS.end);
  if (begin === -1 || end < begin) throw new Error(`The README needs ${MARKS.begin} followed by ${MARKS.end}.`);
  return `${readme.slice(0, begin + MARKS.begin.length)}\n\n${text}\n\n${readme.slice(end)}`;
};

/** Figures of a quick run are never written to the README. */
export const writeSpeedText = async (readme: string, results: Results): Promise<void> => {
  const text = speedText(results);
  if (!text || results.day?.settings.mode === 'quick') return;
  await writeFile(readme, withSpeedText(await readFile(readme, 'utf8'), text));
};

export const readResults = async (folder: string): Promise<Results> => {
  try {
    const stored = JSON.parse(await readFile(join(folder, 'latest.json'), 'utf8')) as Results;
    return Object.fromEntries(SECTIONS.flatMap((name) => (stored[name] ? [[name, stored[name]]] : [])));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
};

/**
 * Writes `latest.json`, `latest.md` and `throughput.svg`. Sections that were not measured keep their stored figures.
 */
export const writeResults = async (folder: string, measured: Results): Promise<Results> => {
  await mkdir(folder, { recursive: true });
  const results: Results = { ...(await readResults(folder)), ...measured };
  await writeFile(join(folder, 'latest.json'), `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(join(folder, 'latest.md'), formatResults(results));
  const panels = panelsOf(results);
  const title = 'Requests per second with all features on, limits in Redis, 32 connections, server on one core';
  const note = `${machineLine(results.day?.machine ?? describeMachine())}.`;
  if (panels) await writeFile(join(folder, 'throughput.svg'), barChart({ title, note, panels, highlight: SERVICE }));
  return results;
};
