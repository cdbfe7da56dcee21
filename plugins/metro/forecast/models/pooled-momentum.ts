import { type ForecastModel, HORIZON_MONTHS, quartersOf } from '../model.js';
import { type PanelMarket, percentChange } from '../panel.js';
import { createLeastSquares } from './least-squares.js';
import { createLogHistory, type LogHistory } from './log-history.js';
import { withScaledErrorInterval } from './scaled-error-interval.js';

/**
 * Pooled momentum regression: point = b0 + b1 g4 + b2 s1 + b3 n1, the change over the horizon in percent.
 *
 * - g4: the market's log growth over the last 4 quarters, in percent.
 * - s1, n1: unweighted mean of log growth over the last quarter, in percent, for the markets in the same state (s1) and
 *   for all markets (n1). The state is the first code after the comma in the market's name.
 * - b: ordinary least squares over all markets with at least `minValues` values and all quarters with a published
 *   outcome, refitted at each quarter.
 * - Gaps within a series are interpolated in logs. Interpolated values are used as inputs, but never as outcomes. A
 *   market without a value for the current quarter is not forecast.
 *
 * Source: house price growth persists over a year and spreads across regions (Case and Shiller, "The Efficiency of the
 * Market for Single-Family Homes", American Economic Review 79(1), 1989). The four terms and the pooling were chosen on
 * FHFA's metro index by their out-of-sample error compared with persistence.
 */
export const pooledMomentum: ForecastModel = {
  name: 'pooled-momentum',
  version: '1.0.0',
  summary: 'Pooled regression on the momentum of the market, its state and the nation: the baseline.',
  features: ['growth_4q', 'state_mean_growth_1q', 'national_mean_growth_1q'],
  series: [],
  needsCentres: false,
  start(markets, { minValues, horizon = HORIZON_MONTHS }) {
    const ahead = quartersOf(horizon);
    const history = createLogHistory(markets.length);
    const means = createGroupMeans(markets);
    const outcomes: Float64Array[] = [];
    const seen: Float64Array[] = [];
    const row = new Float64Array(4);

    const regressors = (market: number, quarter: number, growth: GroupGrowth): boolean => {
      const log = history.at(quarter)[market]!;
      row[0] = 1;
      row[1] = log - history.at(quarter - 4)[market]!;
      row[2] = growth.states[means.group[market]!]!;
      row[3] = growth.nation;
      return !Number.isNaN(row[1]) && !Number.isNaN(row[2]);
    };

    return withScaledErrorInterval(markets.length, ahead, (levels) => {
      history.push(levels);
      seen.push(levels);
      const now = history.length - 1;
      const origin = seen[now - ahead];
      if (origin) outcomes.push(levels.map((level, market) => percentChange(origin[market], level)));

      const points = new Float64Array(markets.length).fill(Number.NaN);
      const enough = history.counts.map((count) => (count >= minValues ? 1 : 0));
      const fit = createLeastSquares(row.length);
      for (let quarter = 4; quarter < outcomes.length; quarter++) {
        const outcome = outcomes[quarter]!;
        const growth = means.at(history, quarter);
        for (let market = 0; market < markets.length; market++) {
          const value = outcome[market]!;
          if (enough[market] && !Number.isNaN(value) && regressors(market, quarter, growth)) fit.add(row, value);
        }
      }
      const b = fit.solve();
      if (!b) return points;
      const growth = means.at(history, now);
      for (let market = 0; market < markets.length; market++) {
        if (!enough[market] || !regressors(market, now, growth)) continue;
        points[market] = row.reduce((sum, x, i) => sum + x * b[i]!, 0);
      }
      return points;
    });
  },
};

interface GroupGrowth {
  readonly states: Float64Array;
  readonly nation: number;
}

/** Filling a gap changes the means of earlier quarters, so the means cannot be cached. */
const createGroupMeans = (markets: readonly PanelMarket[]) => {
  const states = [...new Set(markets.map(({ state }) => state))];
  const group = Int32Array.from(markets, ({ state }) => states.indexOf(state));
  return {
    group,
    at(history: LogHistory, quarter: number): GroupGrowth {
      const now = history.at(quarter);
      const before = history.at(quarter - 1);
      const sums = new Float64Array(states.length);
      const counts = new Int32Array(states.length);
      let total = 0;
      let all = 0;
      for (let market = 0; market < now.length; market++) {
        const growth = now[market]! - before[market]!;
        if (Number.isNaN(growth)) continue;
        const state = group[market]!;
        sums[state]! += growth;
        counts[state]! += 1;
        total += growth;
        all++;
      }
      return { states: sums.map((sum, state) => sum / counts[state]!), nation: total / all };
    },
  };
};
