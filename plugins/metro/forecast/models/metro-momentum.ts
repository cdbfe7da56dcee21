import { monthOf } from '../../periods.js';
import { type ForecastModel, HORIZON_MONTHS, type Known, quartersOf } from '../model.js';
import type { MacroSeriesValues } from '../panel.js';
import { createDiscountedErrorInterval } from './discounted-error-interval.js';
import { createLeastSquares } from './least-squares.js';
import { createLogHistory, toPercent } from './log-history.js';
import { createRegionalGrowth } from './regional-growth.js';

/** FRED series HSN1F: new one-family houses sold in the United States, monthly, seasonally adjusted annual rate. */
const NEW_HOME_SALES = 'HSN1F';
/** Sales are smoothed by a weighted mean over 24 months, with the decay factor 0.75 per month. */
const SALES_MONTHS = 24;
const SALES_DECAY = 0.75;
const LONG_QUARTERS = 20;
/** Index of the first regressor with a penalty. This regressor and all later ones contain national sales. */
const FIRST_PENALISED = 4;
const PENALTY = 40;
/** A small penalty keeps the normal equations solvable if a regressor is always 0. */
const RIDGE = 1e-9;

const FEATURES = [
  'growth_4q',
  'neighbour_growth_1q',
  'growth_20q',
  'new_home_sales_2q',
  'new_home_sales_2q_x_growth_20q',
  'new_home_sales_4q',
  'new_home_sales_4q_x_growth_20q',
] as const;
const WIDTH = FEATURES.length + 1;

/** The model attributes each coefficient to one input. Interactions with sales count as sales. */
const INPUTS: readonly string[] = [
  'intercept',
  'growth_4q',
  'neighbour_growth_1q',
  'growth_20q',
  ...Array.from({ length: WIDTH - FIRST_PENALISED }, () => 'new_home_sales'),
];

interface Pending {
  readonly logs: Float64Array;
  readonly precision: Float64Array;
  readonly rows: Float64Array;
}

/**
 * Returns the log growth of national sales over the last 6 and 12 months in percent, or 0 if it is unknown. Growth is
 * the difference between two smoothed levels. The smoothed level of a month is the weighted mean of log sales over the
 * 24 months up to and including that month. A value from k months earlier has the weight (k + 1) 0.75^k, which is
 * exponential smoothing applied twice. Months without a value are skipped. The level is unknown if the series starts
 * after the first of the 24 months.
 */
const salesGrowth = (macro: MacroSeriesValues): readonly [half: number, year: number] => {
  const logs = new Map((macro.get(NEW_HOME_SALES) ?? []).map(({ start, value }) => [monthOf(start), Math.log(value)]));
  const first = Math.min(...logs.keys());
  const level = (month: number) => {
    if (month - SALES_MONTHS + 1 < first) return Number.NaN;
    let sum = 0;
    let total = 0;
    for (let k = 0; k < SALES_MONTHS; k++) {
      const log = logs.get(month - k);
      if (log === undefined) continue;
      const weight = (k + 1) * SALES_DECAY ** k;
      sum += weight * log;
      total += weight;
    }
    return sum / total;
  };
  const newest = Math.max(...logs.keys());
  const growth = (months: number) => {
    const change = 100 * (level(newest) - level(newest - months));
    return Number.isFinite(change) ? change : 0;
  };
  return [growth(6), growth(12)];
};

const forecastsOf = (rows: Float64Array, b: Float64Array | undefined): Float64Array => {
  const forecasts = new Float64Array(rows.length / WIDTH).fill(Number.NaN);
  if (!b) return forecasts;
  return forecasts.map((_, market) =>
    b.reduce((sum, coefficient, k) => sum + coefficient * rows[market * WIDTH + k]!, 0),
  );
};

/**
 * The terms of the regression add up to log growth. The contributions are scaled, so that they add up to the point
 * forecast.
 */
const contributionsOf = (rows: Float64Array, b: Float64Array, forecast: Float64Array) => {
  const inputs = Object.fromEntries(INPUTS.map((input) => [input, new Float64Array(forecast.length)]));
  for (const [market, y] of forecast.entries()) {
    const scale = y === 0 ? 1 : toPercent(y) / y;
    for (const [k, input] of INPUTS.entries()) {
      const values = inputs[input]!;
      const term = b[k]! * rows[market * WIDTH + k]!;
      values[market]! += scale * term;
    }
  }
  return inputs;
};

/**
 * Metro momentum: y = b [1, g4, v, G, h2, h2 G/20, h4, h4 G/20] is the log growth over the horizon in percent. The
 * point forecast is 100 (exp(y / 100) - 1).
 *
 * - g4, G: the market's log growth over the last 4 and 20 quarters, in percent. G is 0 if unknown. Gaps within a series
 *   are interpolated in logs. A market without a value for the current quarter is not forecast.
 * - v: growth in the region around the market over the last quarter, see `createRegionalGrowth`.
 * - h2, h4: log growth of national sales of new houses over 6 and 12 months, see `salesGrowth`. Sales growth predicts
 *   turns in momentum. Its products with G make the predicted turn strongest where prices have risen most.
 * - b: least squares over all origins with at least `minValues` values and a published outcome, weighted by the
 *   precision of the market's index at the origin. In a quarter, all markets share the same values of h2 and h4, so
 *   there are few independent values. Each of the last four coefficients therefore has a penalty: 40 times the weighted
 *   variance of its regressor, times the mean weight per quarter.
 *
 * `createDiscountedErrorInterval` computes the interval around y. The bounds are converted in the same way as the point
 * forecast.
 *
 * Sources: momentum persists over a year and spreads across regions (Case and Shiller, "The Efficiency of the Market
 * for Single-Family Homes", American Economic Review 79(1), 1989). Sales lead prices (Stein, "Prices and Trading Volume
 * in the Housing Market", Quarterly Journal of Economics 110(2), 1995). The terms and constants were chosen to minimise
 * errors on FHFA's metro index for origins up to 2012.
 */
export const metroMomentum: ForecastModel = {
  name: 'metro-momentum',
  version: '1.0.0',
  summary: 'Pooled regression on the momentum of the metro and its neighbours, and on national sales of new houses.',
  features: FEATURES,
  series: [NEW_HOME_SALES],
  needsCentres: true,
  start(markets, { minValues, horizon = HORIZON_MONTHS }) {
    const ahead = quartersOf(horizon);
    const history = createLogHistory(markets.length);
    const regions = createRegionalGrowth(markets);
    const interval = createDiscountedErrorInterval(markets.length, ahead);
    const fit = createLeastSquares(WIDTH);
    const pending: Pending[] = [];
    let fittedQuarters = 0;

    const realize = ({ logs, precision, rows }: Pending, now: Float64Array): void => {
      const weightBefore = fit.weight;
      for (let market = 0; market < markets.length; market++) {
        const outcome = now[market]! - logs[market]!;
        const row = rows.subarray(market * WIDTH, (market + 1) * WIDTH);
        if (!Number.isNaN(outcome) && !row.some(Number.isNaN)) fit.add(row, outcome, precision[market]);
      }
      if (fit.weight > weightBefore) fittedQuarters++;
    };

    const solve = (): Float64Array | undefined =>
      fit.solve(
        Array.from({ length: WIDTH }, (_, k) =>
          k < FIRST_PENALISED ? RIDGE : RIDGE + (PENALTY * fit.variance(k) * fit.weight) / fittedQuarters,
        ),
      );

    const regressorsAt = (year: Float64Array, neighbours: Float64Array, { macro }: Known): Float64Array => {
      const [half, full] = salesGrowth(macro);
      const long = history.growth(LONG_QUARTERS);
      const rows = new Float64Array(markets.length * WIDTH).fill(Number.NaN);
      for (let market = 0; market < markets.length; market++) {
        if (history.counts[market]! < minValues) continue;
        const run = Number.isNaN(long[market]) ? 0 : long[market]!;
        const share = run / LONG_QUARTERS;
        const [g4, v] = [year[market]!, neighbours[market]!];
        rows.set([1, g4, v, run, half, half * share, full, full * share], market * WIDTH);
      }
      return rows;
    };

    return {
      next(levels, known) {
        history.push(levels);
        const now = history.length - 1;
        const logs = history.at(now);
        const due = pending[now - ahead];
        if (due) realize(due, logs);

        const year = history.growth(4);
        const { precision, neighbours } = regions.next(history.growth(1));
        const rows = regressorsAt(year, neighbours, known);
        // Only published values count as outcomes. The array is copied, because the history later fills its gaps with
        // interpolated values.
        pending.push({ logs: logs.slice(), precision, rows });

        const b = solve();
        const forecast = forecastsOf(rows, b);
        const half = interval.next(logs.slice(), forecast, year);
        return {
          point: forecast.map(toPercent),
          lower: forecast.map((value, market) => toPercent(value - half[market]!)),
          upper: forecast.map((value, market) => toPercent(value + half[market]!)),
          coefficients: b && Object.fromEntries(['intercept', ...FEATURES].map((name, k) => [name, b[k]!])),
          contributions: b && contributionsOf(rows, b, forecast),
        };
      },
    };
  },
};
