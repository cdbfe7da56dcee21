/** This version beside another one, and both beside `node:http`, in interleaved turns. */
import { OperatorError } from '../../core/errors.js';
import type { ArrivalResult } from '../arrival.js';
import type { Bench } from '../bench.js';
import { BARE, chosen, OTHER, pathOf, ROUTE_TITLES, ROUTES, SERVICE } from '../contenders.js';
import { type Entrant, withLineup } from '../lineup.js';
import { writeRequests } from '../request-list.js';
import { runArrival } from '../run-arrival.js';
import { medianOf } from '../statistics.js';
import { percent, type SectionReport, type Table } from '../table.js';
import { takeTurns } from '../turns.js';

const CONNECTIONS = 32;

const etagOf = async (url: string, key: string): Promise<string> => {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.headers.get('etag') ?? '""';
};

const compare = async (
  bench: Bench,
  entrants: readonly Entrant[],
  title: string,
  of: (entrant: Entrant) => Promise<{ url: string; headers?: Record<string, string> }>,
): Promise<Table> => {
  bench.say(title);
  const turns = await Promise.all(
    entrants.map(async (entrant) => ({
      name: entrant.contender.name,
      connections: CONNECTIONS,
      pid: entrant.server.pid,
      ...(await of(entrant)),
    })),
  );
  const outcomes = await takeTurns(bench, turns);
  const other = outcomes.get(OTHER)!;
  return {
    title,
    columns: ['', 'requests/s', 'spread', `x ${OTHER}`, 'CPU, microseconds', `CPU x ${OTHER}`],
    rows: [...outcomes].map(([name, { requestsPerSecond, spread, cpu }]) => [
      name,
      requestsPerSecond,
      percent(spread),
      requestsPerSecond / other.requestsPerSecond,
      cpu,
      cpu / other.cpu,
    ]),
  };
};

const latency = async (bench: Bench, entrants: readonly Entrant[], rate: number): Promise<Table> => {
  bench.say(`Latency: ${rate} requests/s`);
  const { rounds, seconds } = bench.settings;
  const requests = await writeRequests(bench.folder, [{ path: pathOf('market', bench.cbsa), key: bench.key }]);
  const results = new Map(entrants.map(({ contender }) => [contender.name, [] as ArrivalResult[]]));
  for (let round = 0; round < rounds; round++) {
    for (const { contender, url } of entrants) {
      const orders = { url: url('market'), requests, rate, seconds, warmUpSeconds: 1, connections: 64 };
      results.get(contender.name)!.push(await runArrival(orders));
    }
  }
  const other = results.get(OTHER)!;
  return {
    title: `One market at ${rate} requests/s, half of the other version's capacity: latency in microseconds`,
    columns: ['', 'p50', 'p99', `p99 x ${OTHER}`],
    rows: [...results].map(([name, runs]) => [
      name,
      medianOf(runs, 'p50'),
      medianOf(runs, 'p99'),
      medianOf(runs, 'p99') / medianOf(other, 'p99'),
    ]),
  };
};

export const versions = (bench: Bench): Promise<SectionReport> => {
  const { against } = bench.settings;
  if (!against) throw new OperatorError('Name the folder of another version, installed and built, by --against.');
  return withLineup(bench, chosen([SERVICE, BARE], against), async (entrants) => {
    const tables: Table[] = [];
    for (const route of ROUTES) {
      tables.push(await compare(bench, entrants, ROUTE_TITLES[route], async ({ url }) => ({ url: url(route) })));
    }
    const versionsOnly = entrants.filter(({ contender }) => contender.name !== BARE);
    tables.push(
      await compare(bench, versionsOnly, 'One market that has not changed: 304', async ({ url }) => ({
        url: url('market'),
        headers: { 'If-None-Match': await etagOf(url('market'), bench.key) },
      })),
    );
    const capacity = tables[0]!.rows.find(([name]) => name === OTHER)![1] as number;
    tables.push(await latency(bench, entrants, Math.floor(capacity / 2)));
    return {
      tables,
      notes: ['Medians of interleaved turns, each after a second of the same load that does not count.'],
    };
  });
};
