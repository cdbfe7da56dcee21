/** Simple forecasts with which the backtest compares the model. Each benchmark can also be selected as the model. */
import { type ForecastModel, HORIZON_MONTHS, quartersOf } from '../model.js';
import { createLeastSquares } from './least-squares.js';
import { createLogHistory, toPercent } from './log-history.js';
import { withScaledErrorInterval } from './scaled-error-interval.js';

/**
 * Input of a benchmark at one quarter. Growth is 100 times the log difference over the last 4 quarters, scaled to the
 * horizon. `NaN` marks a missing value.
 */
interface Quarter {
  readonly growth: Float64Array;
  readonly nation: number;
  /** Growth over the horizon that ends in this quarter, from published values only. */
  readonly outcomes: Float64Array;
}

type Rule = (quarter: Quarter) => Float64Array;

const YEAR = 4;

const meanOf = (values: Float64Array): { readonly sum: number; readonly count: number } => {
  const known = values.filter((value) => !Number.isNaN(value));
  return { sum: known.reduce((total, value) => total + value, 0), count: known.length };
};

/**
 * Creates a model from a rule. Missing quarters within a series are interpolated on a logarithmic scale. A market gets
 * no forecast if it has too few values or no value in the current quarter.
 */
const benchmark = (
  model: Pick<ForecastModel, 'name' | 'summary' | 'features'>,
  createRule: (ahead: number) => Rule,
): ForecastModel => ({
  ...model,
  version: '1.0.0',
  series: [],
  needsCentres: false,
  start(markets, { minValues, horizon = HORIZON_MONTHS }) {
    const ahead = quartersOf(horizon);
    const history = createLogHistory(markets.length);
    const published: Float64Array[] = [];
    const rule = createRule(ahead);
    return withScaledErrorInterval(markets.length, ahead, (levels) => {
      history.push(levels);
      const now = history.length - 1;
      // Only published values count as outcomes. The array is copied, because the history later fills its gaps with
      // interpolated values.
      const logs = history.at(now).slice();
      published.push(logs);
      const then = published[now - ahead];
      const outcomes = logs.map((log, market) => log - (then?.[market] ?? Number.NaN));
      const growth = history.growth(YEAR).map((value) => (value * ahead) / YEAR);
      const { sum, count } = meanOf(growth);
      return rule({ growth, nation: sum / count, outcomes }).map((forecast, market) =>
        history.counts[market]! < minValues ? Number.NaN : toPercent(forecast),
      );
    });
  },
});

/**
 * Persistence, the "naive" forecast: the last 12-month change, scaled to the horizon. Source: Hyndman and
 * Athanasopoulos, "Forecasting: Principles and Practice", 3rd edition, section 5.2.
 */
export const persistence = benchmark(
  {
    name: 'persistence',
    summary: 'Benchmark: repeats the last 12-month change.',
    features: ['growth_12m'],
  },
  () =>
    ({ growth }) =>
      growth,
);

/**
 * First-order autoregression with the nation: y = b [1, g, n], where g is the market's growth over the last 4 quarters
 * and n is the mean of g over all markets. b is estimated by pooled least squares from all outcomes published so far.
 */
export const ar1Nation = benchmark(
  {
    name: 'ar1-nation',
    summary: 'Benchmark: first-order autoregression on metro and national growth.',
    features: ['growth_12m', 'national_growth_12m'],
  },
  (ahead) => {
    const fit = createLeastSquares(3);
    const pending: (readonly [Float64Array, number])[] = [];
    return ({ growth, nation, outcomes }) => {
      const [then, nationThen] = pending[pending.push([growth, nation]) - 1 - ahead] ?? [];
      for (const [market, value] of (then ?? []).entries()) {
        const outcome = outcomes[market]!;
        if (!Number.isNaN(value) && !Number.isNaN(outcome)) fit.add(Float64Array.of(1, value, nationThen!), outcome);
      }
      const [b0 = Number.NaN, b1 = 0, b2 = 0] = fit.solve() ?? [];
      return growth.map((value) => b0 + b1 * value + b2 * nation);
    };
  },
);

const [OWN, NATION, LONG_RUN] = [0.5, 0.3, 0.2];

export const shrunkMean = benchmark(
  {
    name: 'shrunk-mean',
    summary:
      'Benchmark: 0.5 times the last 12-month change, plus 0.3 times the national one and 0.2 times the long-run mean.',
    features: ['growth_12m', 'national_growth_12m', 'mean_growth_12m'],
  },
  () => {
    const all = { sum: 0, count: 0 };
    return ({ growth, nation }) => {
      const { sum, count } = meanOf(growth);
      all.sum += sum;
      all.count += count;
      return growth.map((value) => OWN * value + NATION * nation + LONG_RUN * (all.sum / all.count));
    };
  },
);
