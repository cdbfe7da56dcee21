/** Interleaved turns: whatever drifts on the machine meets all alike. */
import type { Bench } from './bench.js';
import { cpuSeconds } from './pinned-process.js';
import { median, spread } from './statistics.js';
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
}

const WARM_UP_SECONDS = 1;

interface Sample {
  readonly rate: number;
  readonly p50: number;
  readonly cpu: number;
}

const takeTurn = async (bench: Bench, { pid, ...turn }: Turn): Promise<Sample> => {
  const { seconds } = bench.settings;
  const before = pid === undefined ? Number.NaN : cpuSeconds(pid);
  const { requestsPerSecond, requests, p50 } = await runWrk({ key: bench.key, ...turn, seconds });
  const cpu = pid === undefined ? Number.NaN : ((cpuSeconds(pid) - before) / requests) * 1e6;
  return { rate: requestsPerSecond, p50, cpu };
};

/** Gives each its turn, round after round. The warm-up before the first round counts for nothing. */
export const takeTurns = async (bench: Bench, turns: readonly Turn[]): Promise<ReadonlyMap<string, Outcome>> => {
  const samples = new Map(turns.map(({ name }) => [name, [] as Sample[]]));
  for (const { pid, ...turn } of turns) await runWrk({ key: bench.key, ...turn, seconds: WARM_UP_SECONDS });
  for (let round = 1; round <= bench.settings.rounds; round++) {
    for (const turn of turns) samples.get(turn.name)!.push(await takeTurn(bench, turn));
  }
  const outcome = (all: readonly Sample[]): Outcome => {
    const rates = all.map(({ rate }) => rate);
    return {
      requestsPerSecond: median(rates),
      spread: spread(rates),
      p50: median(all.map(({ p50 }) => p50)),
      cpu: median(all.map(({ cpu }) => cpu)),
    };
  };
  return new Map([...samples].map(([name, all]) => [name, outcome(all)]));
};
