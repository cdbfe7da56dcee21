/** The result of a soak: the growth of each quantity, and the reasons why it failed. */
import { type Machine, machineLine } from '../machine.js';
import { formatCell, formatTable, type Table } from '../table.js';
import { curves } from './curve.js';
import type { SoakResult, SoakSample } from './soak.js';
import { grows, type Trend, trendOf } from './trend.js';

const MIB = 2 ** 20;

interface Quantity {
  readonly title: string;
  readonly read: (sample: SoakSample) => number;
  /** The growth over two thirds of the run that is allowed: a share of the mean, or a number. */
  readonly allowed: { readonly share: number } | { readonly number: number };
}

const quantities: readonly Quantity[] = [
  { title: 'RSS, MiB', read: ({ rss }) => rss / MIB, allowed: { share: 0.1 } },
  { title: 'heap, MiB', read: ({ heapUsed }) => heapUsed / MIB, allowed: { share: 0.05 } },
  { title: 'external, MiB', read: ({ external }) => external / MIB, allowed: { share: 0.1 } },
  { title: 'fds', read: ({ fds }) => fds, allowed: { number: 4 } },
  { title: 'resources', read: ({ resources }) => resources, allowed: { number: 4 } },
  { title: 'listeners', read: ({ listeners }) => listeners, allowed: { number: 0.5 } },
];

export interface Verdict {
  readonly trends: Readonly<Record<string, Trend>>;
  /** Empty for a success. */
  readonly failures: readonly string[];
  /** As Markdown. */
  readonly text: string;
  /** As SVG. */
  readonly chart: string;
}

const ROWS = 12;

const curveTable = (samples: readonly SoakSample[]): Table => {
  const step = Math.max(1, Math.ceil(samples.length / ROWS));
  const shown = samples.filter((_, i) => (samples.length - 1 - i) % step === 0);
  return {
    title: 'What the server held, after collecting garbage',
    columns: ['seconds', 'requests', 'publications', ...quantities.map(({ title }) => title), 'kept answers, MiB'],
    rows: shown.map((sample) => [
      sample.at.toFixed(0),
      sample.requests,
      sample.published,
      ...quantities.map(({ read }) => read(sample)),
      sample.cache / MIB,
    ]),
  };
};

export const judge = (result: SoakResult, machine: Machine): Verdict => {
  const { adapter, samples, tally, warnings } = result;
  const failures = [
    ...warnings.map((warning) => `Node has warned: ${warning}`),
    ...(tally.surprised > 0 ? [`${tally.surprised} answers were not as expected`, ...tally.surprises] : []),
  ];
  const judged = quantities.map(({ title, read, allowed }) => {
    // A busy minute caches more responses than a quiet one, and each publication drops them all.
    const trend = trendOf(samples.map((sample) => ({ at: sample.at, value: read(sample), beside: sample.cache })));
    const most = 'share' in allowed ? allowed.share * trend.mean : allowed.number;
    if (grows(trend, most)) failures.push(`${title} grew by ${trend.growth.toFixed(2)}, more than ${most.toFixed(2)}`);
    return { title, trend, most };
  });
  const last = samples.at(-1)!;
  const what = `${formatCell(last.requests)} requests and ${last.published} publications on ${adapter}`;
  const statuses = [...tally.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  const text = [
    `## Soak: ${what} in ${last.at.toFixed(0)} s`,
    machineLine(machine),
    `${statuses.join(', ')}; ${tally.aborted} aborted; ${tally.connections} connections; ${(tally.bytes / MIB).toFixed(0)} MiB.`,
    formatTable(curveTable(samples)),
    formatTable({
      title: 'Growth over the last two thirds, by a straight line, with equally many answers kept',
      columns: ['', 'mean', 'growth', 'in standard errors', 'allowed'],
      rows: judged.map(({ title, trend, most }) => [title, trend.mean, trend.growth, trend.significance, most]),
    }),
    failures.length === 0 ? 'Nothing grows.' : failures.map((failure) => `- ${failure}`).join('\n'),
  ].join('\n\n');
  const chart = curves(
    `${what}: what the server held, after collecting garbage`,
    `${last.at.toFixed(0)} seconds. ${machineLine(machine)}.`,
    quantities.map(({ title, read }) => ({
      title,
      points: samples.map((sample) => [sample.at, read(sample)] as const),
    })),
  );
  return { trends: Object.fromEntries(judged.map(({ title, trend }) => [title, trend])), failures, text, chart };
};
