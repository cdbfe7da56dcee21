/** The benchmark: the next 12 months will be like the last. */
import { type ForecastModel, HORIZON_QUARTERS } from '../model.js';
import { createLogHistory } from './log-history.js';
import { withScaledErrorInterval } from './scaled-error-interval.js';

/**
 * Persistence, the "naive" or random-walk forecast of growth: point = 100 (I(t) / I(t-4) - 1), the last 12-month
 * change in percent. A gap at t-4 is interpolated in logs; a market without a value at t is not forecast.
 * Source: the standard benchmark of forecast evaluation, e.g. Hyndman and Athanasopoulos, "Forecasting:
 * Principles and Practice", 3rd edition, section 5.2.
 */
export const persistence: ForecastModel = {
  name: 'persistence',
  version: '1.0.0',
  summary: 'The last 12-month change, unchanged: the benchmark.',
  features: ['growth_12m'],
  series: [],
  needsCentres: false,
  start(markets, { minValues }) {
    const history = createLogHistory(markets.length);
    return withScaledErrorInterval(markets.length, (levels) => {
      history.push(levels);
      const now = history.length - 1;
      if (now < HORIZON_QUARTERS) return new Float64Array(markets.length).fill(Number.NaN);
      const current = history.at(now);
      const before = history.at(now - HORIZON_QUARTERS);
      return current.map((log, market) =>
        (history.counts[market] as number) < minValues
          ? Number.NaN
          : 100 * Math.expm1((log - (before[market] as number)) / 100),
      );
    });
  },
};
