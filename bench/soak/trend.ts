/** Whether a series grows: a straight line through its last two thirds, by least squares. */

export interface Trend {
  /** Of the samples that count. */
  readonly mean: number;
  /** Of the line, from the first of these samples to the last. */
  readonly growth: number;
  /** The growth in units of its own standard error. */
  readonly significance: number;
}

export interface Sample {
  /** Seconds since the beginning. */
  readonly at: number;
  readonly value: number;
  /** A part of what explains the value that may come and go, in any unit: the line is that at an even share of it. */
  readonly beside: number;
}

/** At the beginning, caches fill and the compiler is at work. */
const SETTLING = 1 / 3;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const product = (a: readonly number[], b: readonly number[]): number => sum(a.map((value, i) => value * b[i]!));

const centred = (values: readonly number[]): number[] => {
  const mean = sum(values) / values.length;
  return values.map((value) => value - mean);
};

/** What a straight line on `beside` leaves of the values; both centred. */
const without = (values: readonly number[], beside: readonly number[]): number[] => {
  const squares = product(beside, beside);
  const slope = squares > 0 ? product(values, beside) / squares : 0;
  return values.map((value, i) => value - slope * beside[i]!);
};

/**
 * The slope in a regression on time and `beside` is that of what `beside` leaves of the values on what it leaves of time
 * (Frisch and Waugh, Econometrica 1933).
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

/** Three standard errors: chance alone goes so far up in one of some hundred series. */
const SIGNIFICANT = 3;

/**
 * Whether a growth is more than noise, and more than what is allowed: what is measured is so even that a line that rises
 * by a thousandth is no chance, and no leak either.
 */
export const grows = ({ growth, significance }: Trend, allowed: number): boolean =>
  growth > allowed && significance > SIGNIFICANT;
