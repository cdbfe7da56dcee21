/** Interleaved turns: whatever drifts on the machine meets all alike. */
import type { Bench } from './bench.js';
import { median, spread } from './statistics.js';
import { runWrk, type WrkOptions } from './wrk.js';

export interface Turn extends Omit<WrkOptions, 'key' | 'seconds'> {
  readonly name: string;
  readonly key?: string;
}

export interface Outcome {
  readonly requestsPerSecond: number;
  /** (greatest - least) / median of the turns. */
  readonly spread: number;
  /** Microseconds. */
  readonly p50: number;
}

const WARM_UP_SECONDS = 1;

/** Gives each its turn, round after round. The warm-up before the first round counts for nothing. */
export const takeTurns = async (bench: Bench, turns: readonly Turn[]): Promise<ReadonlyMap<string, Outcome>> => {
  const { rounds, seconds } = bench.settings;
  const samples = new Map(turns.map(({ name }) => [name, { rates: [] as number[], p50s: [] as number[] }]));
  for (const turn of turns) await runWrk({ key: bench.key, ...turn, seconds: WARM_UP_SECONDS });
  for (let round = 1; round <= rounds; round++) {
    for (const turn of turns) {
      const { requestsPerSecond, p50 } = await runWrk({ key: bench.key, ...turn, seconds });
      const sample = samples.get(turn.name)!;
      sample.rates.push(requestsPerSecond);
      sample.p50s.push(p50);
    }
  }
  return new Map(
    [...samples].map(([name, { rates, p50s }]) => [
      name,
      { requestsPerSecond: median(rates), spread: spread(rates), p50: median(p50s) },
    ]),
  );
};
