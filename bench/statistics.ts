const sorted = (samples: Iterable<number>): number[] => [...samples].sort((a, b) => a - b);

/** Percentile by the nearest-rank method. @param fraction from 0 to 1 */
export const percentile = (samples: Iterable<number>, fraction: number): number => {
  const ranks = sorted(samples);
  return ranks[Math.max(0, Math.ceil(fraction * ranks.length) - 1)] ?? Number.NaN;
};

export const median = (samples: Iterable<number>): number => {
  const ranks = sorted(samples);
  const middle = ranks.length >> 1;
  return ranks.length % 2 === 1 ? ranks[middle]! : (ranks[middle - 1]! + ranks[middle]!) / 2;
};

export const medianOf = <Name extends string>(runs: readonly Readonly<Record<Name, number>>[], name: Name): number =>
  median(runs.map((run) => run[name]));

export const spread = (samples: readonly number[]): number =>
  (Math.max(...samples) - Math.min(...samples)) / median(samples);
