/** A user's day: many keys and all endpoints, by contenders that do the same; and how long a response takes then. */
import type { ArrivalResult } from '../arrival.js';
import type { Bench } from '../bench.js';
import { BARE, chosen, EXPRESS, FASTIFY, KOA, OTHER, SERVICE } from '../contenders.js';
import { type PreparedDay, prepareDay } from '../day-lists.js';
import { withLineup } from '../lineup.js';
import { loadNote, outcomeColumns, outcomeRows } from '../outcome-table.js';
import { runArrival } from '../run-arrival.js';
import { medianOf } from '../statistics.js';
import { formatCell, type SectionReport, type Table } from '../table.js';
import { takeTurns } from '../turns.js';

const CONNECTIONS = 32;
const ARRIVAL_CONNECTIONS = 64;

export const DAY_TITLE = `A user's day, ${CONNECTIONS} connections`;

/** Open loop at half of the service's capacity, beside the bare server at the same rate. */
const latency = async (bench: Bench, prepared: PreparedDay['lists'], rate: number): Promise<Table> => {
  const asked = prepared.filter(([{ contender }]) => [SERVICE, OTHER, BARE].includes(contender.name));
  const results = new Map(asked.map(([{ contender }]) => [contender.name, [] as ArrivalResult[]]));
  const { rounds, seconds } = bench.settings;
  for (let round = 0; round < rounds; round++) {
    for (const [{ contender, server }, requests] of asked) {
      const orders = { rate, seconds, warmUpSeconds: 1, connections: ARRIVAL_CONNECTIONS };
      results.get(contender.name)!.push(await runArrival({ url: server.origin, requests, ...orders }));
    }
  }
  const bare = medianOf(results.get(BARE)!, 'p99');
  return {
    title: `The same day at ${formatCell(rate)} requests/s, half of the service's capacity: latency in microseconds`,
    columns: ['', 'p50', 'p99', 'p99.9', `p99 x ${BARE}`],
    rows: [...results].map(([name, runs]) => [
      name,
      ...[medianOf(runs, 'p50'), medianOf(runs, 'p99'), medianOf(runs, 'p999')],
      medianOf(runs, 'p99') / bare,
    ]),
  };
};

export const daySection = (bench: Bench): Promise<SectionReport> => {
  const lineup = chosen([SERVICE, BARE, FASTIFY, KOA, EXPRESS], bench.settings.against);
  return withLineup(bench, lineup, async (entrants) => {
    const { lists, representations } = await prepareDay(bench, entrants);
    bench.say('Day: throughput');
    const outcomes = await takeTurns(
      bench,
      lists.map(([{ contender, server, redis }, requests]) => ({
        name: contender.name,
        url: server.origin,
        requests,
        connections: CONNECTIONS,
        pid: server.pid,
        redis,
      })),
    );
    const rate = Math.floor(outcomes.get(SERVICE)!.requestsPerSecond / 2);
    bench.say(`Day: latency at ${rate} requests/s`);
    const ratios = [FASTIFY, BARE];
    return {
      tables: [
        { title: DAY_TITLE, columns: outcomeColumns(ratios), rows: outcomeRows(outcomes, ratios) },
        await latency(bench, lists, rate),
      ],
      notes: [
        `${formatCell(bench.usualKeys.length)} keys of 600 a minute; ${formatCell(representations)} representations, drawn by Zipf's law: ` +
          '70% one market, its history, track or forecasts, 20% lists, 10% observations and series; a third with ' +
          'If-None-Match of the current version; half accept br, a fifth gzip; 2% 404s, 1% 400s; one connection in twenty ' +
          'is closed after the response.',
        'Before that, each contender gave every representation as the service does, and a 304 for its ETag. The ' +
          'contenders look up finished objects and only serialise them; node:http has finished bytes in every encoding, ' +
          'and neither keys nor limits.',
        loadNote([outcomes]),
        `Latency: open loop over ${ARRIVAL_CONNECTIONS} connections; each request is timed from when it fell due, so that ` +
          'stalls count in full, and so do fresh connections.',
      ],
    };
  });
};
