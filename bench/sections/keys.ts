/** What limits cost and how exact they are: many keys as APIs have them, and one key as only benchmarks have it. */
import { fileURLToPath } from 'node:url';
import { type Bench, HUGE_LIMIT, makeKeys, USUAL_LIMIT } from '../bench.js';
import { chosen, EXPRESS, FASTIFY, FASTIFY_LIMITS, IN_MEMORY, KOA, pathOf, SERVICE } from '../contenders.js';
import { probeLimits } from '../limit-probe.js';
import { type Entrant, withLineup } from '../lineup.js';
import { loadNote, outcomeColumns, outcomeRows } from '../outcome-table.js';
import { runPinned, SERVER_CORE } from '../pinned-process.js';
import { type RequestList, writeRequests } from '../request-list.js';
import { median } from '../statistics.js';
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

/** What a decision on Redis adds to a response, in the mean, for callers who are alone: the median of the rounds. */
const decisionNote = async (
  bench: Bench,
  entrants: readonly Entrant[],
  listOf: (keys: readonly string[]) => Promise<RequestList>,
  others: readonly string[],
): Promise<string> => {
  bench.say('Keys: one connection');
  const ours = entrants.filter(({ contender: { name } }) => name === SERVICE || name === IN_MEMORY);
  const inARow = others.flatMap((key) => Array.from({ length: IN_A_ROW }, () => key));
  const lists = [await listOf(bench.usualKeys), await listOf(inARow)];
  const tables = lists.map((requests) =>
    ours.map((entrant) => turnOf(entrant, { title: '', connections: 1, requests })),
  );
  const added: number[][] = lists.map(() => []);
  const pings: number[] = [];
  const oneRound = { ...bench, settings: { ...bench.settings, rounds: 1 } };
  for (let round = 0; round < bench.settings.rounds; round++) {
    pings.push(await pingTime(bench));
    for (const [i, outcomes] of (await takeTurnsOfTables(oneRound, tables)).entries()) {
      const mean = (name: string): number => 1e6 / outcomes.get(name)!.requestsPerSecond;
      added[i]!.push(mean(SERVICE) - mean(IN_MEMORY));
    }
  }
  const told = added.map((all) => {
    const inPings = median(all.map((microseconds, round) => microseconds / pings[round]!));
    return `${median(all).toFixed(0)} microseconds (${inPings.toFixed(2)} x a PING from the same core)`;
  });
  return (
    `On one connection a decision on Redis adds in the mean ${told[0]} where each request is another caller's, and ` +
    `${told[1]} where a caller makes ${IN_A_ROW} in a row; a PING takes ${median(pings).toFixed(0)}.`
  );
};

export const keysSection = (bench: Bench): Promise<SectionReport> => {
  const many = makeKeys(MANY_KEYS);
  const lineup = chosen([SERVICE, IN_MEMORY, FASTIFY, FASTIFY_LIMITS, KOA, EXPRESS], bench.settings.against);
  return withLineup({ ...bench, usualKeys: [...bench.usualKeys, ...many] }, lineup, async (entrants) => {
    const path = pathOf('market', bench.cbsa);
    const listOf = (keys: readonly string[]): Promise<RequestList> =>
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
    const limits = await probe(bench, entrants, many);
    const decision = await decisionNote(bench, entrants, listOf, many.slice(-2000));
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
