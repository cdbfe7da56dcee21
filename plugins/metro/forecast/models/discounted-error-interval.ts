import { createLeastSquares } from './least-squares.js';
import { weightedQuantile } from './weighted-quantile.js';

const COVERAGE = 0.8;
/** In the mean error of a market, the weight of each error is multiplied by this factor every quarter. */
const OWN_DISCOUNT = 0.95;
/** In the quantile of all errors, the weight of each error is multiplied by this factor every quarter. */
const QUANTILE_DISCOUNT = 0.9;
/**
 * The weight of the mean over all markets in the mean error of one market. The market's newest error has weight 1.
 */
const PRIOR_ERRORS = 8;
/** Lower limit of a market's expected error, as a share of the mean over all markets in the same quarter. */
const LEAST_SHARE = 0.25;
const WARM_UP_QUARTERS = 20;
const WIDTH = 4;

interface Pending {
  readonly logs: Float64Array;
  readonly forecast: Float64Array;
  readonly regressors: Float64Array;
}

interface Realized {
  readonly regressors: Float64Array;
  readonly errors: Float64Array;
}

const expectedErrors = (regressors: Float64Array, b: Float64Array): Float64Array => {
  const expected = new Float64Array(regressors.length / WIDTH);
  let total = 0;
  let known = 0;
  for (let market = 0; market < expected.length; market++) {
    let value = 0;
    for (let k = 0; k < WIDTH; k++) value += b[k]! * regressors[market * WIDTH + k]!;
    expected[market] = value;
    if (Number.isNaN(value)) continue;
    total += value;
    known++;
  }
  const least = (LEAST_SHARE * total) / known;
  return expected.map((value) => Math.max(value, least));
};

/**
 * Computes half the width of the 80% interval around each forecast y, in percent. y is log growth over a horizon of h
 * quarters. At quarter t, the absolute errors e of the origins s <= t-h are known. The age of an error is t-h-s
 * quarters.
 *
 * - own = (sum of 0.95^age e + 8 P) / (sum of 0.95^age + 8) is the mean error of a market, shrunk towards P. P is the
 *   mean error over all markets, with the same discount.
 * - S = b [1, own, |g4|, |y - g4|] is the expected error. g4 is the market's log growth over the last 4 quarters. S is
 *   at least a quarter of the mean S over all markets at the same origin. b is estimated by ordinary least squares from
 *   the past errors and the regressors at their origins.
 * - The half-width is q S. q is the 80% quantile of past e / S, weighted by 0.9^age. Each past S is recomputed with the
 *   current b. This is normalised conformal prediction (Papadopoulos, Gammerman and Vovk, 2008), applied over time.
 *
 * The first 20 quarters with forecasts have no bounds.
 */
export const createDiscountedErrorInterval = (markets: number, horizon: number) => {
  const pending: Pending[] = [];
  const ownSum = new Float64Array(markets);
  const ownWeight = new Float64Array(markets);
  const fit = createLeastSquares(WIDTH);
  const realized: Realized[] = [];
  let first: number | undefined;

  const realize = ({ logs, forecast, regressors }: Pending, now: Float64Array): void => {
    const errors = forecast.map((value, market) => Math.abs(now[market]! - logs[market]! - value));
    for (const [market, error] of errors.entries()) {
      ownSum[market] = OWN_DISCOUNT * ownSum[market]!;
      ownWeight[market] = OWN_DISCOUNT * ownWeight[market]!;
      if (Number.isNaN(error)) continue;
      ownSum[market]! += error;
      ownWeight[market]! += 1;
      const row = regressors.subarray(market * WIDTH, (market + 1) * WIDTH);
      if (!row.some(Number.isNaN)) fit.add(row, error);
    }
    realized.push({ regressors, errors });
  };

  /** Returns one row of regressors per market. Regressors are `NaN` if there is no forecast or no known error. */
  const regressorsOf = (forecast: Float64Array, growth: Float64Array): Float64Array => {
    const pooled = sum(ownSum) / sum(ownWeight);
    const regressors = new Float64Array(markets * WIDTH);
    for (let market = 0; market < markets; market++) {
      const own = (ownSum[market]! + PRIOR_ERRORS * pooled) / (ownWeight[market]! + PRIOR_ERRORS);
      const last = growth[market]!;
      regressors.set([1, own, Math.abs(last), Math.abs(forecast[market]! - last)], market * WIDTH);
    }
    return regressors;
  };

  const widening = (b: Float64Array): number => {
    const ratios: number[] = [];
    const weights: number[] = [];
    for (const [index, { regressors, errors }] of realized.entries()) {
      const weight = QUANTILE_DISCOUNT ** (realized.length - 1 - index);
      const expected = expectedErrors(regressors, b);
      for (let market = 0; market < markets; market++) {
        const ratio = errors[market]! / expected[market]!;
        if (!Number.isFinite(ratio)) continue;
        ratios.push(ratio);
        weights.push(weight);
      }
    }
    return weightedQuantile(Float64Array.from(ratios), Float64Array.from(weights), COVERAGE);
  };

  return {
    /**
     * Adds the next quarter. All values are 100 times a log or a difference of logs. `NaN` marks a missing value.
     * @param logs the published index
     * @param forecast log growth over the horizon
     * @param growth log growth over the last 12 months
     * @returns half the width of each interval
     */
    next(logs: Float64Array, forecast: Float64Array, growth: Float64Array): Float64Array {
      const quarter = pending.length;
      const due = pending[quarter - horizon];
      if (due) realize(due, logs);
      const regressors = regressorsOf(forecast, growth);
      pending.push({ logs, forecast, regressors });
      if (forecast.some((value) => !Number.isNaN(value))) first ??= quarter;
      const b = first === undefined || quarter < first + WARM_UP_QUARTERS ? undefined : fit.solve();
      if (!b) return new Float64Array(markets).fill(Number.NaN);
      const q = widening(b);
      return expectedErrors(regressors, b).map((value) => q * value);
    },
  };
};

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
