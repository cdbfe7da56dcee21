/** Whether a series grows: a least-squares line through its last two thirds. */

export interface Trend {
  /** Of the samples after the settling. */
  readonly mean: number;
  /** The growth of the line from the first of these samples to the last. */
  readonly growth: number;
  /** The growth in standard errors. */
  readonly significance: number;
}

export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly value: number;
  /** A quantity that explains part of the value, in any unit. The line is adjusted for it. */
  readonly beside: number;
}

/** The share of samples to skip, while caches fill and the compiler works. */
const SETTLING = 1 / 3;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const product = (a: readonly number[], b: readonly number[]): number => sum(a.map((value, i) => value * b[i]!));

const centred = (values: readonly number[]): number[] => {
  const mean = sum(values) / values.length;
  return values.map((value) => value - mean);
};

/** The residuals of the values after a regression on `beside`. Both are centred. */
const without = (values: readonly number[], beside: readonly number[]): number[] => {
  const squares = product(beside, beside);
  const slope = squares > 0 ? product(values, beside) / squares : 0;
  return values.map((value, i) => value - slope * beside[i]!);
};

/**
 * The slope on time in a regression on time and `beside` equals the slope between the residuals of both after a regression
 * on `beside` (Frisch and Waugh, Econometrica 1933).
 * @throws Error for fewer than four samples after the settling
 */
export const trendOf = (samples: readonly Sample[]): Trend => {
  const last = samples.at(-1)?.at ?? 0;
  const counted = samples.filter(({ at }) => at >= last * SETTLING);
  const n = counted.length;
  if (n < 4) throw new Error(`A trend needs four samples after the first third of the time; there are ${n}.`);
  const beside = centred(counted.map((sample) => sample.beside));
  const times = without(centred(counted.map(({ at }) => at)), beside);
  const values = without(centred(counted.map(({ value }) => value)), beside);
  const slope = product(times, values) / product(times, times);
  const residuals = values.map((value, i) => value - slope * times[i]!);
  const error = Math.sqrt(product(residuals, residuals) / (n - 3) / product(times, times));
  return {
    mean: sum(counted.map(({ value }) => value)) / n,
    growth: slope * (last - counted[0]!.at),
    significance: slope === 0 ? 0 : slope / error,
  };
};

/** Three standard errors: chance alone exceeds this in about one of 700 series. */
const SIGNIFICANT = 3;

/**
 * Whether a growth is more than noise, and more than is allowed. Some series are so even that a growth of a thousandth is
 * significant, but no leak.
 */
export const grows = ({ growth, significance }: Trend, allowed: number): boolean =>
  growth > allowed && significance > SIGNIFICANT;
