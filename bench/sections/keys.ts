/** What limits cost and how exact they are: many keys as APIs have them, and one key as only benchmarks have it. */
import { fileURLToPath } from 'node:url';
import { type Bench, HUGE_LIMIT, makeKeys, USUAL_LIMIT } from '../bench.js';
import {
  BARE,
  chosen,
  EXPRESS,
  FASTIFY,
  FASTIFY_LIMITS,
  IN_MEMORY,
  KOA,
  PINGING,
  pathOf,
  SERVICE,
} from '../contenders.js';
import { probeLimits } from '../limit-probe.js';
import { type Entrant, withLineup } from '../lineup.js';
import { loadNote, outcomeColumns, outcomeRows } from '../outcome-table.js';
import { runPinned, SERVER_CORE } from '../pinned-process.js';
import { type RequestList, writeRequests } from '../request-list.js';
import { median, medianOf } from '../statistics.js';
import { formatCell, type SectionReport, type Table } from '../table.js';
import { type Turn, takeTurnsOfTables } from '../turns.js';

const MANY_KEYS = 50_000;
/** With the busy ones fewer than 1,024, at which Redis doubles its table. */
const IDLE_CALLERS = 900;
/** So few that one process can be all of them for all contenders at a time. */
const BUSY_CALLERS = 30;

const usualTitle = (keys: number, connections: number): string =>
  `One market, ${formatCell(keys)} keys of ${USUAL_LIMIT} a minute, ${connections} connections`;

/** At this many connections README and chart tell it. */
const TOLD_CONNECTIONS = 32;
export const USUAL_KEYS_TITLE = usualTitle(5000, TOLD_CONNECTIONS);
export const HUGE_KEY_TITLE = `One market, one key of ${formatCell(HUGE_LIMIT)} a minute, ${TOLD_CONNECTIONS} connections`;
export const EXACTNESS_TITLE = `What a limit of ${USUAL_LIMIT} a minute lets pass, and what Redis holds`;
export const REFUSED = `${SERVICE}, 429s`;

interface Scenario {
  readonly title: string;
  readonly connections: number;
  /** Undefined: one request with the huge key. */
  readonly requests?: RequestList;
}

const ratios = [FASTIFY, FASTIFY_LIMITS, IN_MEMORY];

const turnOf = ({ contender, server, redis, url }: Entrant, { connections, requests }: Scenario): Turn => ({
  name: contender.name,
  url: url('market'),
  connections,
  pid: server.pid,
  redis,
  ...(requests && { requests }),
});

/** How exact each limiter is and what its Redis holds; without Redis only the first. */
const probe = async (bench: Bench, entrants: readonly Entrant[], keys: readonly string[]): Promise<Table> => {
  bench.say('Keys: exactness and memory, which takes a minute');
  const rushing = keys[0]!;
  const idle = keys.slice(1, 1 + IDLE_CALLERS);
  const busy = keys.slice(1 + IDLE_CALLERS, 1 + IDLE_CALLERS + BUSY_CALLERS);
  const rows = await Promise.all(
    entrants.map(async ({ contender, redis, url }) => {
      const figures = await probeLimits({ url: url('market'), redis }, { rushing, idle, busy });
      const shared = contender.name !== IN_MEMORY;
      const bytes = shared ? [figures.idleBytes, figures.busyBytes] : [null, null];
      return [contender.name, figures.most, ...bytes];
    }),
  );
  return {
    title: EXACTNESS_TITLE,
    columns: ['', 'most in 60 s', 'bytes for a caller who asked once', 'bytes for one who asks all the time'],
    rows,
  };
};

/** In microseconds. */
const pingTime = async (bench: Bench): Promise<number> => {
  const program = fileURLToPath(new URL('../round-trip.js', import.meta.url));
  return Number(await runPinned(SERVER_CORE, [process.execPath, program, 'redis', bench.redis]));
};

/** Requests that a caller makes one after the other, as a script does that fetches a market at a time. */
const IN_A_ROW = 60;
/** More than can have their turn in two seconds. */
const CALLERS_IN_A_ROW = 1500;

type Lists = (keys: readonly string[]) => Promise<RequestList>;

/**
 * What a decision on Redis adds to a response, in the mean, for callers who are alone, and what a PING adds to one: medians
 * of the rounds.
 */
const decisionNote = async (
  bench: Bench,
  entrants: readonly Entrant[],
  listOf: Lists,
  others: readonly string[],
): Promise<string> => {
  bench.say('Keys: one connection');
  const turns = (names: readonly string[], requests: RequestList): Turn[] =>
    entrants
      .filter(({ contender: { name } }) => names.includes(name))
      .map((entrant) => turnOf(entrant, { title: '', connections: 1, requests }));
  const ours = [SERVICE, IN_MEMORY];
  const { rounds } = bench.settings;
  const oneRound = { ...bench, settings: { ...bench.settings, rounds: 1 } };
  const usual = await listOf(bench.usualKeys);
  const samples: { inTurn: number; inARow: number; ping: number; loop: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    // Others in each round: a turn may use up what a key has in a minute.
    const keys = others.slice(round * CALLERS_IN_A_ROW, (round + 1) * CALLERS_IN_A_ROW);
    const inARow = await listOf(keys.flatMap((key) => Array.from({ length: IN_A_ROW }, () => key)));
    const loop = await pingTime(bench);
    const outcomes = await takeTurnsOfTables(oneRound, [
      turns([BARE, PINGING], usual),
      turns(ours, usual),
      turns(ours, inARow),
    ]);
    const added = (table: number, name: string, less: string): number => {
      const mean = (of: string): number => 1e6 / outcomes[table]!.get(of)!.requestsPerSecond;
      return mean(name) - mean(less);
    };
    samples.push({
      loop,
      ping: added(0, PINGING, BARE),
      inTurn: added(1, SERVICE, IN_MEMORY),
      inARow: added(2, SERVICE, IN_MEMORY),
    });
  }
  const told = (figure: 'inTurn' | 'inARow'): string => {
    const times = (other: 'ping' | 'loop'): string => median(samples.map((all) => all[figure] / all[other])).toFixed(2);
    return `${medianOf(samples, figure).toFixed(0)} (${times('ping')} x that PING, ${times('loop')} x the other)`;
  };
  return (
    `On one connection, in the mean, a PING of Redis adds ${medianOf(samples, 'ping').toFixed(0)} microseconds to a response of ` +
    `node:http; in a loop that does nothing else one takes ${medianOf(samples, 'loop').toFixed(0)}. A decision adds ` +
    `${told('inTurn')} where each request is another caller's, and ${told('inARow')} where a caller makes ${IN_A_ROW} in a row.`
  );
};

export const keysSection = (bench: Bench): Promise<SectionReport> => {
  const many = makeKeys(MANY_KEYS);
  // Of their own, since what they use up would be refused to those who are measured.
  const probed = makeKeys(1 + IDLE_CALLERS + BUSY_CALLERS);
  const limited = chosen([SERVICE, IN_MEMORY, FASTIFY, FASTIFY_LIMITS, KOA, EXPRESS], bench.settings.against);
  const lineup = [...limited, ...chosen([BARE, PINGING])];
  return withLineup({ ...bench, usualKeys: [...bench.usualKeys, ...many, ...probed] }, lineup, async (all) => {
    const entrants = all.slice(0, limited.length);
    const path = pathOf('market', bench.cbsa);
    const listOf: Lists = (keys) =>
      writeRequests(
        bench.folder,
        keys.map((key) => ({ path, key })),
      );
    const usual = await listOf(bench.usualKeys);
    const scenarios: readonly Scenario[] = [
      ...[TOLD_CONNECTIONS, 128].map((connections) => ({
        title: usualTitle(bench.usualKeys.length, connections),
        connections,
        requests: usual,
      })),
      {
        title: usualTitle(many.length, TOLD_CONNECTIONS),
        connections: TOLD_CONNECTIONS,
        requests: await listOf(many),
      },
      { title: HUGE_KEY_TITLE, connections: TOLD_CONNECTIONS },
    ];
    const limits = await probe(bench, entrants, probed);
    const decision = await decisionNote(bench, all, listOf, many);
    bench.say(`Keys: ${scenarios.map(({ title }) => title).join('; ')}`);
    const measured = await takeTurnsOfTables(
      bench,
      scenarios.map((scenario) => {
        const turns = entrants.map((entrant) => turnOf(entrant, scenario));
        const refused = { ...turns[0]!, name: REFUSED, key: bench.refusedKey, refusals: true };
        return scenario.requests ? turns : [...turns, refused];
      }),
    );
    const tables = scenarios.map(({ title }, i) => ({
      title,
      columns: outcomeColumns(ratios),
      rows: outcomeRows(measured[i]!, ratios),
    }));
    return {
      tables: [...tables, limits],
      notes: [
        'Each contender has a Redis of its own, all on the core of the load; CPU of Redis is its processor time for one ' +
          'request, which is one decision.',
        'These tables were measured in the same rounds, so that their figures can be compared with each other.',
        decision,
        loadNote(measured),
        `The most in 60 s: a key of ${USUAL_LIMIT} asks once, waits for the end of the minute that this began, and then asks ` +
          'with hardly a pause for twelve seconds around it; counted are requests sent and answered within the same 60 seconds.',
      ],
    };
  });
};
