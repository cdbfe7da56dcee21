import { dataRoute, type Route } from 'metro-forecast-api/plugin';
import { type Forecast, forecasts, percent, rate, record } from '../collections.js';
import { rounded } from '../rounding.js';
import { cbsaParameter, completedRuns, listResponse, marketNotFound, requireMarket } from './shared.js';

/** Ratio of the 75% quantile to the 90% quantile of the normal distribution (0.6745 / 1.2816). */
const QUARTILE = 0.5263;

/** Forecast intervals are symmetric in logs, so quantiles are interpolated in logs. */
const quartile = (point: number, bound: number): number => {
  const [middle, end] = [Math.log1p(point / 100), Math.log1p(bound / 100)];
  return rounded(100 * Math.expm1(middle + QUARTILE * (end - middle)));
};

export const quantilesOf = ({ point, lower_80, upper_80 }: Forecast) =>
  lower_80 === null || upper_80 === null
    ? []
    : ([
        [0.1, lower_80],
        [0.25, quartile(point, lower_80)],
        [0.5, point],
        [0.75, quartile(point, upper_80)],
        [0.9, upper_80],
      ] as const);

const quantileRow = {
  title: 'Quantile',
  ...record({
    run_id: { type: 'integer' },
    probability: { ...rate, description: 'Probability that the outcome is at most `value`.' },
    value: { ...percent, description: '12-month change in the index, in percent.' },
  }),
};

export const quantileRoutes: readonly Route[] = [
  dataRoute({
    path: '/markets/{cbsa}/quantiles',
    operationId: 'getMarketQuantiles',
    vintages: true,
    summary: 'The 10%, 25%, 50%, 75% and 90% quantiles of the newest forecast of one market',
    description:
      'The 10% and 90% quantiles are the bounds of the 80% interval, and the median is the point forecast. The quartiles ' +
      'assume a normal distribution of logarithms. The list is empty if the market has no forecast or the forecast has no bounds.',
    parameters: { path: { cbsa: cbsaParameter } },
    errors: [marketNotFound],
    response: listResponse('One row per quantile, lowest first.', quantileRow, {
      run_id: 20254,
      probability: 0.25,
      value: 0.79,
    }),
    handler: async ({ cbsa }, { snapshot }) => {
      await requireMarket(snapshot, cbsa);
      const [run] = await completedRuns(snapshot);
      const forecast = run && (await snapshot.get(forecasts, [run.id, cbsa]));
      if (!run || !forecast) return { data: [] };
      return {
        data: quantilesOf(forecast).map(([probability, value]) => ({ run_id: run.id, probability, value })),
      };
    },
  }),
];
