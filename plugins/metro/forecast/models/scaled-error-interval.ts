/** Computes 80% intervals from a model's own past errors, scaled to each market and to the current uncertainty. */
import type { Forecaster, QuarterForecasts } from '../model.js';
import { percentChange } from '../panel.js';

/** The nominal coverage of the interval. */
const COVERAGE = 0.8;
/** The number of errors at which a market's own errors have the same weight as the pooled errors. */
const PRIOR_ERRORS = 20;
/** The number of realised origins whose errors measure the current uncertainty. */
const RECENT_ORIGINS = 8;
/**
 * The number of quarters of a panel before forecasts count. If a model has seen little data, its errors say little
 * about its later errors. Fifteen years contain at least one cycle of house prices.
 */
const WARM_UP_QUARTERS = 60;

/** The forecasts of an origin that are waiting for their outcomes. */
interface Pending {
  readonly levels: Float64Array;
  readonly point: Float64Array;
  readonly sigma: Float64Array;
}

/** Returns a quantile of sorted values, using linear interpolation (type 7 of Hyndman and Fan, 1996). */
export const quantile = (sorted: Float64Array, probability: number): number => {
  const position = (sorted.length - 1) * probability;
  const below = Math.floor(position);
  const low = sorted[below] ?? Number.NaN;
  return low + (position - below) * ((sorted[below + 1] ?? low) - low);
};

/** Merges two sorted arrays. */
const merge = (a: Float64Array, b: Float64Array): Float64Array => {
  const merged = new Float64Array(a.length + b.length);
  for (let i = 0, j = 0; i + j < merged.length; ) {
    const fromA = j === b.length || (i < a.length && (a[i] as number) <= (b[j] as number));
    merged[i + j] = (fromA ? a[i++] : b[j++]) as number;
  }
  return merged;
};

/**
 * Puts intervals around point forecasts: point +- q sigma, in percentage points. For a market with n realised
 * errors e, sigma = (sum |e| + 20 MAE) / (n + 20) x sqrt(MAE8), where MAE is the mean absolute error over all
 * markets and origins realised so far and MAE8 that over the last 8 origins; q is the 80% quantile of all
 * past |e| / sigma, each with the sigma of its own day. Scaling errors before taking their quantile is
 * normalised conformal prediction (Papadopoulos, Gammerman and Vovk, 2008), here over time rather than over
 * exchangeable rows. Errors count where index levels were published at both ends.
 *
 * There are no bounds before the first ratio is realised: 8 quarters after the warm-up of 60.
 *
 * @param horizon in quarters
 * @param next gives the point forecasts at each quarter, `NaN` where there is none
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

  /** Records the errors of forecasts made one horizon ago, now that their outcomes are known. */
  const realize = ({ levels: then, point, sigma }: Pending, now: Float64Array): void => {
    const fresh: number[] = [];
    const origin = { sum: 0, count: 0 };
    for (let market = 0; market < markets; market++) {
      const error = Math.abs(percentChange(then[market], now[market]) - (point[market] as number));
      if (Number.isNaN(error)) continue;
      sumOfErrors[market] = (sumOfErrors[market] as number) + error;
      errors[market] = (errors[market] as number) + 1;
      origin.sum += error;
      origin.count++;
      const ratio = error / (sigma[market] as number);
      if (Number.isFinite(ratio)) fresh.push(ratio);
    }
    if (origin.count > 0) origins.push(origin);
    ratios = merge(ratios, Float64Array.from(fresh).sort());
  };

  /** Returns each market's expected absolute error, up to the factor `q`; `NaN` before any error is known. */
  const scales = (): Float64Array => {
    const pooled = meanError(origins);
    const recent = Math.sqrt(meanError(origins.slice(-RECENT_ORIGINS)));
    return sumOfErrors.map((sum, market) => {
      const shrunk = (sum + PRIOR_ERRORS * pooled) / ((errors[market] as number) + PRIOR_ERRORS);
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
        lower: point.map((value, market) => value - q * (sigma[market] as number)),
        upper: point.map((value, market) => value + q * (sigma[market] as number)),
      };
    },
  };
};

/** Returns the mean error over all markets and origins, or `NaN` if there are none. */
const meanError = (origins: readonly { sum: number; count: number }[]): number => {
  let sum = 0;
  let count = 0;
  for (const origin of origins) {
    sum += origin.sum;
    count += origin.count;
  }
  return sum / count;
};
