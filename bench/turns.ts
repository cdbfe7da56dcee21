/** Measures the contenders in turn, several times, so that changes in the speed of the machine affect all of them equally. */
import type { Entrant } from './lineup.js';
import { cpuSeconds } from './process.js';
import type { RequestList } from './requests.js';
import { medianOf, spread } from './statistics.js';
import { runWrk } from './wrk.js';

interface Turn {
  readonly entrant: Entrant;
  readonly list: RequestList;
  readonly connections: number;
}

/** Medians over all rounds. CPU times are in microseconds per request. */
export interface Outcome {
  readonly requestsPerSecond: number;
  /** Maximum minus minimum of the requests per second, divided by the median. */
  readonly spread: number;
  readonly serverCpu: number;
  readonly redisCpu: number;
  readonly loadCpu: number;
}

type Sample = Omit<Outcome, 'spread'>;

/**
 * Warm-up before each measurement, in seconds. V8 compiles hot code and collects old garbage, and each key sends its
 * first request of the minute, which is the slowest.
 */
const LEAD_SECONDS = 2;

const takeTurn = async ({ entrant, list, connections }: Turn, seconds: number): Promise<Sample> => {
  const { server, redis } = entrant;
  const load = { origin: server.origin, list, connections };
  await runWrk({ ...load, seconds: LEAD_SECONDS });
  const before = [cpuSeconds(server.pid), cpuSeconds(redis.pid)] as const;
  const { requests, requestsPerSecond, cpuSeconds: loadSeconds } = await runWrk({ ...load, seconds });
  const each = (used: number): number => (used / requests) * 1e6;
  return {
    requestsPerSecond,
    serverCpu: each(cpuSeconds(server.pid) - before[0]),
    redisCpu: each(cpuSeconds(redis.pid) - before[1]),
    loadCpu: each(loadSeconds),
  };
};

const outcomeOf = (samples: readonly Sample[]): Outcome => ({
  requestsPerSecond: medianOf(samples, 'requestsPerSecond'),
  spread: spread(samples.map(({ requestsPerSecond }) => requestsPerSecond)),
  serverCpu: medianOf(samples, 'serverCpu'),
  redisCpu: medianOf(samples, 'redisCpu'),
  loadCpu: medianOf(samples, 'loadCpu'),
});

/**
 * Measures all tables of a section in the same rounds, so that their figures can be compared. Every second round runs
 * in reverse order.
 * @param tables for each table, the servers to measure; every table lists the servers in the same order
 * @returns for each table, the figures of each server by name
 */
export const takeTurns = async (
  tables: readonly (readonly Turn[])[],
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<readonly ReadonlyMap<string, Outcome>[]> => {
  const places = tables[0]!.flatMap((_, at) => tables.map((turns) => ({ turn: turns[at]!, samples: [] as Sample[] })));
  for (let round = 1; round <= rounds; round++) {
    for (const { turn, samples } of round % 2 === 1 ? places : places.toReversed()) {
      try {
        samples.push(await takeTurn(turn, seconds));
      } catch (cause) {
        throw new Error(`Round ${round} of ${turn.entrant.name} failed.`, { cause });
      }
    }
  }
  return tables.map((turns) => {
    const own = places.filter(({ turn }) => turns.includes(turn));
    return new Map(own.map(({ turn, samples }) => [turn.entrant.name, outcomeOf(samples)]));
  });
};
