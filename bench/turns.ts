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
 * What the first second after a server's rest is like depends on who had the core meanwhile: its compilers and collector
 * have work left from the turn before, which low-priority threads did not get to beside the others. It counts for nothing.
 */
export const LEAD_SECONDS = 1;

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

/** Gives each its turn, round after round. */
export const takeTurns = async (bench: Bench, turns: readonly Turn[]): Promise<ReadonlyMap<string, Outcome>> => {
  const samples = new Map(turns.map(({ name }) => [name, [] as Sample[]]));
  for (let round = 1; round <= bench.settings.rounds; round++) {
    for (const turn of turns) samples.get(turn.name)!.push(await takeTurn(bench, turn));
  }
  const outcome = (all: readonly Sample[]): Outcome => ({
    requestsPerSecond: medianOf(all, 'requestsPerSecond'),
    spread: spread(all.map(({ requestsPerSecond }) => requestsPerSecond)),
    p50: medianOf(all, 'p50'),
    p99: medianOf(all, 'p99'),
    cpu: medianOf(all, 'cpu'),
    loadCpu: medianOf(all, 'loadCpu'),
    redisCpu: medianOf(all, 'redisCpu'),
  });
  return new Map([...samples].map(([name, all]) => [name, outcome(all)]));
};
