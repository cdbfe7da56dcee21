/** One worker beside two, with the load generator's share of the machine. */
import { cpus } from 'node:os';
import type { Bench } from '../bench.js';
import { type RunningServer, startServer } from '../server.js';
import { BASE, json, serviceCommand } from '../service.js';
import type { SectionReport, Table } from '../table.js';
import { takeTurns } from '../turns.js';

/** Answers of which one costs the service little more than wrk, and answers that cost it many times as much. */
const CASES = [
  { title: 'One market', path: (cbsa: string) => `/markets/${cbsa}`, options: {} },
  {
    title: 'History of one market, never kept',
    path: (cbsa: string) => `/markets/${cbsa}/history`,
    options: { cacheBytes: 0 },
  },
];

const WORKERS = [1, 2];
const cores = `0-${cpus().length - 1}`;

const scaling = async (bench: Bench, { title, path, options }: (typeof CASES)[number]): Promise<Table> => {
  const servers: RunningServer[] = [];
  try {
    for (const workers of WORKERS) {
      const service = { adapter: json(bench.dataset), limiter: 'redis', workers, cores, ...options } as const;
      servers.push(await startServer(await serviceCommand(bench, service)));
    }
    bench.say(`Workers: ${title}`);
    const turns = servers.map(({ origin, pid }, index) => ({
      name: String(WORKERS[index]),
      url: `${origin}${BASE}${path(bench.cbsa)}`,
      connections: 32,
      cores,
      pid,
    }));
    const outcomes = await takeTurns(bench, turns);
    const one = outcomes.get('1')!;
    const row = (count: number) => {
      const { requestsPerSecond: rate, cpu, loadCpu } = outcomes.get(String(count))!;
      const coresOf = (microseconds: number): number => (rate * microseconds) / 1e6;
      return [count, rate, rate / one.requestsPerSecond, coresOf(cpu), coresOf(loadCpu), cpu, (count * one.cpu) / cpu];
    };
    return {
      title: `${title}, by workers, 32 connections, limits on Redis`,
      columns: [
        ...['workers', 'requests/s', 'x one', 'cores of the service', 'cores of wrk'],
        ...['CPU, microseconds', 'x one, a core each'],
      ],
      rows: WORKERS.map(row),
    };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
};

export const workers = async (bench: Bench): Promise<SectionReport> => {
  const tables: Table[] = [];
  for (const each of CASES) tables.push(await scaling(bench, each));
  return {
    tables,
    notes: [
      `Nothing is bound to a core here: wrk and Redis share the ${cpus().length} cores with the workers, so two workers ` +
        'get what these leave. CPU is the processor time of the service for one request, from which the last column ' +
        'has what two workers make with a core for each.',
    ],
  };
};
