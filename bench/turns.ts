/** Interleaved turns: whatever drifts on the machine meets all alike. */
import type { Bench } from './bench.js';
import { cpuSeconds } from './pinned-process.js';
import { redisFigures } from './redis-figures.js';
import { medianOf, spread } from './statistics.js';
import { runWrk, type WrkOptions } from './wrk.js';

export interface Turn extends Omit<WrkOptions, 'key' | 'seconds'> {
  readonly name: string;
  readonly key?: WrkOptions['key'];
  /** The server, whose processor time is then measured too. */
  readonly pid?: number;
  /** The URL of the server's own Redis, whose processor time is then measured too. */
  readonly redis?: string;
}

export interface Outcome {
  readonly requestsPerSecond: number;
  /** (greatest - least) / median of the turns. */
  readonly spread: number;
  /** Microseconds. */
  readonly p50: number;
  /** Microseconds. */
  readonly p99: number;
  /** Processor time of the server for one request, in microseconds; NaN where its process is not known. */
  readonly cpu: number;
  /** Processor time of wrk for one request, in microseconds. */
  readonly loadCpu: number;
  /** Processor time of Redis for one request, in microseconds; NaN where it is not asked for. */
  readonly redisCpu: number;
}

/**
 * Seconds before each measurement that are not counted. What they are like depends on who had the core meanwhile: the
 * server's compilers and collector, which have low priority, catch up on work from its turn before; and the callers of the
 * largest list ask for the first time in a minute.
 */
export const LEAD_SECONDS = 2;

type Sample = Omit<Outcome, 'spread'>;

interface ProcessorTime {
  readonly server: number;
  readonly redis: number;
}

const processorTime = async ({ pid, redis }: Turn): Promise<ProcessorTime> => ({
  server: pid === undefined ? Number.NaN : cpuSeconds(pid),
  redis: redis === undefined ? Number.NaN : (await redisFigures(redis)).cpuSeconds,
});

const takeTurn = async (bench: Bench, turn: Turn): Promise<Sample> => {
  const load = { key: bench.key, ...turn };
  await runWrk({ ...load, seconds: LEAD_SECONDS });
  const before = await processorTime(turn);
  const { requests, cpu, ...result } = await runWrk({ ...load, seconds: bench.settings.seconds });
  const after = await processorTime(turn);
  const each = (seconds: number): number => (seconds / requests) * 1e6;
  return {
    ...result,
    cpu: each(after.server - before.server),
    loadCpu: each(cpu),
    redisCpu: each(after.redis - before.redis),
  };
};

const outcomeOf = (samples: readonly Sample[]): Outcome => ({
  requestsPerSecond: medianOf(samples, 'requestsPerSecond'),
  spread: spread(samples.map(({ requestsPerSecond }) => requestsPerSecond)),
  p50: medianOf(samples, 'p50'),
  p99: medianOf(samples, 'p99'),
  cpu: medianOf(samples, 'cpu'),
  loadCpu: medianOf(samples, 'loadCpu'),
  redisCpu: medianOf(samples, 'redisCpu'),
});

/**
 * Takes the turns of several tables in the same rounds, those of one name after each other, so that tables can be compared;
 * every other round backwards, so that nobody is always the first after a server's rest.
 * @returns an outcome for each name, for each table
 */
export const takeTurnsOfTables = async (
  bench: Bench,
  tables: readonly (readonly Turn[])[],
): Promise<readonly ReadonlyMap<string, Outcome>[]> => {
  const places = tables.flatMap((turns) => turns.map((turn) => ({ turns, turn, samples: [] as Sample[] })));
  const names = [...new Set(places.map(({ turn }) => turn.name))];
  const inOrder = names.flatMap((name) => places.filter(({ turn }) => turn.name === name));
  for (let round = 1; round <= bench.settings.rounds; round++) {
    for (const { turn, samples } of round % 2 === 1 ? inOrder : inOrder.toReversed()) {
      try {
        samples.push(await takeTurn(bench, turn));
      } catch (cause) {
        throw new Error(`In round ${round} the turn of ${turn.name} failed.`, { cause });
      }
    }
  }
  return tables.map((table) => {
    const own = places.filter(({ turns }) => turns === table);
    return new Map(own.map(({ turn, samples }) => [turn.name, outcomeOf(samples)]));
  });
};

/** Gives each its turn, round after round. */
export const takeTurns = async (bench: Bench, turns: readonly Turn[]): Promise<ReadonlyMap<string, Outcome>> =>
  (await takeTurnsOfTables(bench, [turns]))[0]!;
