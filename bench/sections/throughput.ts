/** Requests a second of everybody, for one huge key, with its memory and the time to its first answer. */
import type { Bench } from '../bench.js';
import { BARE, everybody, FASTIFY, ROUTE_TITLES, ROUTES } from '../contenders.js';
import { type Entrant, withLineup } from '../lineup.js';
import { loadNote, outcomeColumns, outcomeRows } from '../outcome-table.js';
import { residentMiB } from '../pinned-process.js';
import type { SectionReport, Table } from '../table.js';
import { type Outcome, takeTurns } from '../turns.js';

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

const CONNECTIONS = 32;
const ratios = [BARE, FASTIFY];

export const throughput = (bench: Bench): Promise<SectionReport> =>
  withLineup(bench, everybody(bench.settings.against), async (entrants) => {
    const tables: Table[] = [];
    const measured: ReadonlyMap<string, Outcome>[] = [];
    for (const route of ROUTES) {
      const title = `${ROUTE_TITLES[route]}, one huge key, ${CONNECTIONS} connections`;
      bench.say(`Throughput: ${title}`);
      const turns = entrants.map((entrant) => ({
        name: entrant.contender.name,
        url: entrant.url(route),
        connections: CONNECTIONS,
        pid: entrant.server.pid,
        redis: entrant.redis,
      }));
      const outcomes = await takeTurns(bench, turns);
      tables.push({ title, columns: outcomeColumns(ratios), rows: outcomeRows(outcomes, ratios) });
      measured.push(outcomes);
    }
    tables.push(processes(entrants));
    return {
      tables,
      notes: [
        'Medians of interleaved turns, each after a second of the same load that does not count; the spread is ' +
          '(greatest - least) / median. All contenders gave the same JSON first.',
        'CPU is the processor time of the server for one request: it stays comparable where others use the machine too.',
        'The one key has a limit of 100,000,000 a minute, so that none is refused. Nobody has such a key: the sections ' +
          'Day and Keys have what users meet.',
        loadNote(measured),
      ],
    };
  });
