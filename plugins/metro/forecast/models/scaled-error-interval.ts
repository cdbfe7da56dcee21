import type { Forecaster, QuarterForecasts } from '../model.js';
import { percentChange } from '../panel.js';

const COVERAGE = 0.8;
/** With 20 errors, a market's own errors and the pooled errors have equal weight. */
const PRIOR_ERRORS = 20;
/** The mean error of the newest 8 origins with known outcomes measures the current uncertainty. */
const RECENT_ORIGINS = 8;
/**
 * Errors in the first fifteen years are ignored, because errors made with little data do not predict later errors.
 * Fifteen years contain at least one cycle of house prices.
 */
const WARM_UP_QUARTERS = 60;

interface Pending {
  readonly levels: Float64Array;
  readonly point: Float64Array;
  readonly sigma: Float64Array;
}

/** Quantile of sorted values with linear interpolation (type 7 of Hyndman and Fan, 1996). */
export const quantile = (sorted: Float64Array, probability: number): number => {
  const position = (sorted.length - 1) * probability;
  const below = Math.floor(position);
  const low = sorted[below] ?? Number.NaN;
  return low + (position - below) * ((sorted[below + 1] ?? low) - low);
};

const merge = (a: Float64Array, b: Float64Array): Float64Array => {
  const merged = new Float64Array(a.length + b.length);
  for (let i = 0, j = 0; i + j < merged.length; ) {
    const fromA = j === b.length || (i < a.length && a[i]! <= b[j]!);
    merged[i + j] = (fromA ? a[i++] : b[j++])!;
  }
  return merged;
};

/**
 * Adds intervals to point forecasts: point +- q sigma, in percentage points. For a market with n known errors e, sigma
 * = (sum |e| + 20 MAE) / (n + 20) x sqrt(MAE8). MAE is the mean absolute error over all markets and all origins with
 * known outcomes. MAE8 is the same mean over the last 8 of these origins. q is the 80% quantile of all past |e| /
 * sigma, each with the sigma computed at its origin. Scaling errors before taking their quantile is normalised
 * conformal prediction (Papadopoulos, Gammerman and Vovk, 2008), here applied over time instead of to exchangeable
 * rows. An error counts only if index levels were published for both quarters.
 *
 * The first bounds appear two horizons after the 60 warm-up quarters, because q requires at least one past |e| / sigma.
 *
 * @param horizon in quarters
 * @param next returns the point forecasts at each quarter; `NaN` for a market that is not forecast
 */
export const withScaledErrorInterval = (
  markets: number,
  horizon: number,
  next: (levels: Float64Array) => Float64Array,
): Forecaster => {
  const pending: Pending[] = [];
  const sumOfErrors = new Float64Array(markets);
  const errors = new Int32Array(markets);
  const origins: { sum: number; count: number }[] = [];
  let ratios: Float64Array = new Float64Array(0);

  const realize = ({ levels: then, point, sigma }: Pending, now: Float64Array): void => {
    const fresh: number[] = [];
    const origin = { sum: 0, count: 0 };
    for (let market = 0; market < markets; market++) {
      const error = Math.abs(percentChange(then[market], now[market]) - point[market]!);
      if (Number.isNaN(error)) continue;
      sumOfErrors[market]! += error;
      errors[market]! += 1;
      origin.sum += error;
      origin.count++;
      const ratio = error / sigma[market]!;
      if (Number.isFinite(ratio)) fresh.push(ratio);
    }
    if (origin.count > 0) origins.push(origin);
    ratios = merge(ratios, Float64Array.from(fresh).sort());
  };

  /** Returns the expected absolute error of each market before multiplication by q, or `NaN` without known errors. */
  const scales = (): Float64Array => {
    const pooled = meanError(origins);
    const recent = Math.sqrt(meanError(origins.slice(-RECENT_ORIGINS)));
    return sumOfErrors.map((sum, market) => {
      const shrunk = (sum + PRIOR_ERRORS * pooled) / (errors[market]! + PRIOR_ERRORS);
      return shrunk * recent;
    });
  };

  return {
    next(levels): QuarterForecasts {
      const due = pending.length - horizon;
      if (due >= WARM_UP_QUARTERS) realize(pending[due] as Pending, levels);
      const point = next(levels);
      const sigma = scales();
      pending.push({ levels, point, sigma });
      const q = quantile(ratios, COVERAGE);
      return {
        point,
        lower: point.map((value, market) => value - q * sigma[market]!),
        upper: point.map((value, market) => value + q * sigma[market]!),
      };
    },
  };
};

const meanError = (origins: readonly { sum: number; count: number }[]): number => {
  let sum = 0;
  let count = 0;
  for (const origin of origins) {
    sum += origin.sum;
    count += origin.count;
  }
  return sum / count;
};
