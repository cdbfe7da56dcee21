/** Interleaved turns: whatever drifts on the machine meets all alike. */
import type { Bench } from './bench.js';
import { cpuSeconds } from './pinned-process.js';
import { medianOf, spread } from './statistics.js';
import { runWrk, type WrkOptions } from './wrk.js';

export interface Turn extends Omit<WrkOptions, 'key' | 'seconds'> {
  readonly name: string;
  readonly key?: WrkOptions['key'];
  /** The server, whose processor time is then measured too. */
  readonly pid?: number;
}

export interface Outcome {
  readonly requestsPerSecond: number;
  /** (greatest - least) / median of the turns. */
  readonly spread: number;
  /** Microseconds. */
  readonly p50: number;
  /** Processor time of the server for one request, in microseconds; NaN where its process is not known. */
  readonly cpu: number;
  /** Processor time of wrk for one request, in microseconds. */
  readonly loadCpu: number;
}

/**
 * What the first second after a server's rest is like depends on who had the core meanwhile: its compilers and collector
 * have work left from the turn before, which low-priority threads did not get to beside the others. It counts for nothing.
 */
export const LEAD_SECONDS = 1;

type Sample = Omit<Outcome, 'spread'>;

const takeTurn = async (bench: Bench, { pid, ...turn }: Turn): Promise<Sample> => {
  const load = { key: bench.key, ...turn };
  await runWrk({ ...load, seconds: LEAD_SECONDS });
  const before = pid === undefined ? Number.NaN : cpuSeconds(pid);
  const { requestsPerSecond, requests, p50, cpu } = await runWrk({ ...load, seconds: bench.settings.seconds });
  const used = pid === undefined ? Number.NaN : cpuSeconds(pid) - before;
  return { requestsPerSecond, p50, cpu: (used / requests) * 1e6, loadCpu: (cpu / requests) * 1e6 };
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
    cpu: medianOf(all, 'cpu'),
    loadCpu: medianOf(all, 'loadCpu'),
  });
  return new Map([...samples].map(([name, all]) => [name, outcome(all)]));
};
