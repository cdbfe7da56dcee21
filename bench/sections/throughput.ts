/** Requests a second of every contender, with its memory and the time to its first answer. */
import type { Bench } from '../bench.js';
import { BARE, contenders, FASTIFY, ROUTE_TITLES, ROUTES } from '../contenders.js';
import { type Entrant, withLineup } from '../lineup.js';
import { residentMiB } from '../pinned-process.js';
import { percent, type SectionReport, type Table } from '../table.js';
import { type Outcome, takeTurns } from '../turns.js';

const table = (title: string, outcomes: ReadonlyMap<string, Outcome>): Table => {
  const ratioTo = (name: string, { requestsPerSecond }: Outcome): number | null => {
    const other = outcomes.get(name);
    return other ? requestsPerSecond / other.requestsPerSecond : null;
  };
  return {
    title,
    columns: ['', 'requests/s', 'spread', `x ${BARE}`, `x ${FASTIFY}`, 'CPU, microseconds'],
    rows: [...outcomes].map(([name, outcome]) => [
      name,
      outcome.requestsPerSecond,
      percent(outcome.spread),
      ratioTo(BARE, outcome),
      ratioTo(FASTIFY, outcome),
      outcome.cpu,
    ]),
  };
};

const processes = (entrants: readonly Entrant[]): Table => ({
  title: 'What they do, and what they need',
  columns: ['', 'features', 'first answer, ms', 'memory after load, MiB'],
  rows: entrants.map(({ contender, server }) => [
    contender.name,
    contender.features,
    server.startMs,
    residentMiB(server.pid),
  ]),
});

export const throughput = (bench: Bench): Promise<SectionReport> =>
  withLineup(bench, contenders, async (entrants) => {
    const tables: Table[] = [];
    for (const connections of bench.settings.connections) {
      for (const route of ROUTES) {
        const title = `${ROUTE_TITLES[route]}, ${connections} connections`;
        bench.say(title);
        const turns = entrants.map((entrant) => ({
          name: entrant.contender.name,
          url: entrant.url(route),
          connections,
          pid: entrant.server.pid,
        }));
        tables.push(table(title, await takeTurns(bench, turns)));
      }
    }
    tables.push(processes(entrants));
    return {
      tables,
      notes: [
        'Medians of interleaved turns, each after a second of the same load that does not count; the spread is ' +
          '(greatest - least) / median. All contenders gave the same JSON first.',
        'CPU is the processor time of the server for one request: it stays comparable where others use the machine too.',
        'The limit is 100,000,000 a minute, so that none is refused: the service then counts in Redis, dates admissions ' +
          'by sixtieths of the window, and leases slots ahead. The limiter section has what many keys of a low limit cost.',
      ],
    };
  });
