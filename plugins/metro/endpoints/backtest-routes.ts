import { dataRoute, type Route } from 'metro-forecast-api/plugin';
import { backtests, forecasts, markets, nullable, percent, rate, record, scores, text } from '../collections.js';
import { BREAKDOWN_KEYS, breakdownOf } from '../forecast/breakdown.js';
import { isOfKind, kindParameter, normalizeKind } from './list-parameters.js';
import { completedRuns, horizonParameter, listResponse } from './shared.js';
import { checkSpan, spanParameters } from './spans.js';

const maeOf = (benchmark: string): string => `Mean absolute error of \`${benchmark}\`, in percentage points.`;

const groupProperties = {
  group: { ...text, description: 'Name of the group, such as a year, a grade or a range of probabilities.' },
  n: { type: 'integer', minimum: 1, description: 'Number of scored forecasts.' },
  mean_point: { ...percent, description: 'Mean point forecast, in percent.' },
  mean_realized: { ...percent, description: 'Mean realized change, in percent.' },
  mae_pp: { type: 'number', minimum: 0, description: 'Mean absolute error, in percentage points.' },
  benchmark_mae_pp: { type: 'number', minimum: 0, description: maeOf('persistence') },
  ar1_nation_mae_pp: { type: 'number', minimum: 0, description: maeOf('ar1_nation') },
  shrunk_mean_mae_pp: { type: 'number', minimum: 0, description: maeOf('shrunk_mean') },
  bias_pp: scores.bias_pp,
  benchmark_bias_pp: {
    type: 'number',
    description: 'Mean of `realized` minus the point forecast of persistence, in percentage points.',
  },
  coverage_80: scores.coverage_80,
  interval_score_80: scores.interval_score_80,
  direction_hit_rate: scores.direction_hit_rate,
  benchmark_hit_rate: {
    ...rate,
    description: 'Share of persistence forecasts that have the same sign as the realized change.',
  },
  always_up_hit_rate: {
    ...rate,
    description: 'Hit rate of always forecasting "up": the share of realized values above 0.',
  },
  declines: { type: 'integer', minimum: 0, description: 'Number of realized values below 0.' },
  declines_called: { type: 'integer', minimum: 0, description: 'Number of declines with a point forecast below 0.' },
  decline_calls: {
    type: 'integer',
    minimum: 0,
    description: 'Number of point forecasts below 0, whether right or wrong.',
  },
  decline_share: { ...rate, description: 'Share of realized values below 0.' },
  predicted_decline_share: {
    ...nullable(rate),
    description: 'Mean `decline_probability`. Equals `decline_share` if probabilities are well calibrated.',
  },
  brier_score: scores.brier_score,
  log_loss: {
    type: 'number',
    minimum: 0,
    description: 'Mean negative log likelihood of the outcomes. Probabilities below 0.001 count as 0.001.',
  },
} as const;

const MONTH_MS = (365.25 / 12) * 24 * 3600 * 1000;

export const backtestRoutes: readonly Route[] = [
  dataRoute({
    path: '/forecast-backtest',
    operationId: 'getForecastBacktest',
    vintages: true,
    summary: 'The newest backtest of the forecasts',
    description:
      'Scores past forecasts whose outcome has been published. The backtest is null until the completed runs span 12 ' +
      'months. For horizons other than 12 months, the backtest also scores reconstructed runs that `/forecast-runs` does ' +
      'not list.',
    parameters: { query: { horizon_months: horizonParameter } },
    response: {
      description: 'The backtest, or null.',
      schema: {
        type: 'object',
        required: ['data'],
        additionalProperties: false,
        properties: { data: { anyOf: [{ title: 'Backtest', ...backtests.schema }, { type: 'null' }] } },
      },
      example: {
        data: {
          as_of: '2026-02-24T00:00:00Z',
          model_version: 'pooled-momentum-1.0',
          horizon_months: 12,
          window_start: '2016-10-01',
          window_end: '2025-10-01',
          n: 14800,
          n_metros: 410,
          n_runs: 37,
          mae_pp: 3.5,
          rmse_pp: 4.9,
          bias_pp: 0.4,
          coverage_80: 0.8,
          interval_score_80: 18.1,
          direction_hit_rate: 0.93,
          benchmark: { name: 'persistence', mae_pp: 4.1 },
          skill_mae: 0.146,
          realized_vintage: '2026-02-24',
          base_rate_up: 0.96,
          declines: 549,
          declines_called: 2,
          n_published: 410,
          n_reconstructed: 14390,
          brier_score: 0.041,
          benchmarks: [
            { name: 'shrunk_mean', mae_pp: 3.7, direction_hit_rate: 0.92, skill_mae: 0.054 },
            { name: 'persistence', mae_pp: 4.1, direction_hit_rate: 0.91, skill_mae: 0.146 },
          ],
        },
      },
    },
    handler: async ({ horizon_months }, { snapshot }) => {
      const runs = await completedRuns(snapshot);
      const newest = runs[0];
      const oldest = runs.at(-1);
      if (!newest || !oldest) return { data: null };
      // `MONTH_MS` is the average length of a month. Twelve calendar months can be a day shorter than 12 average
      // months, so the limit is slightly below 12.
      const months = (Date.parse(newest.run_at) - Date.parse(oldest.run_at)) / MONTH_MS;
      if (months < 12 - 0.05) return { data: null };
      const rows = await snapshot.find(backtests, { descending: true });
      return { data: rows.find((row) => row.horizon_months === horizon_months) ?? null };
    },
  }),
  dataRoute({
    path: '/forecast-backtest/breakdown',
    operationId: 'getForecastBacktestBreakdown',
    vintages: true,
    summary:
      'Accuracy of past forecasts by year, quarter, grade, signal, state, size, probability of a decline or basis',
    description:
      'Scores the forecasts of the backtest by group, compared with persistence and a constant forecast of "up". `year`: year of ' +
      'the target. `quarter`: newest quarter of data that the forecast used. `state`: a market in several states counts in ' +
      'each. `size`: point forecast, in percent. `probability`: `decline_probability`, for a reliability diagram. `basis`: ' +
      'published or reconstructed.',
    parameters: {
      query: {
        by: {
          description: 'Property to group by.',
          schema: { type: 'string', enum: BREAKDOWN_KEYS },
          required: true,
          example: 'year',
        },
        ...spanParameters,
        kind: kindParameter,
      },
    },
    check: checkSpan,
    normalize: normalizeKind,
    response: listResponse(
      'One row per group, in order. Empty if there is no backtest.',
      { title: 'BacktestGroup', ...record(groupProperties) },
      {
        group: '2023',
        n: 1610,
        mean_point: 3.4,
        mean_realized: 2.8,
        mae_pp: 3.7,
        benchmark_mae_pp: 9.4,
        ar1_nation_mae_pp: 6.1,
        shrunk_mean_mae_pp: 5.9,
        bias_pp: -0.6,
        benchmark_bias_pp: -9.2,
        coverage_80: 0.71,
        interval_score_80: 20.2,
        direction_hit_rate: 0.87,
        benchmark_hit_rate: 0.91,
        always_up_hit_rate: 0.91,
        declines: 141,
        declines_called: 12,
        decline_calls: 31,
        decline_share: 0.0876,
        predicted_decline_share: 0.11,
        brier_score: 0.084,
        log_loss: 0.29,
      },
    ),
    handler: async ({ by, kind, since = '', until = '9999' }, { snapshot }) => {
      const runs = await completedRuns(snapshot);
      const names = new Map((await snapshot.find(markets)).map(({ cbsa, name }) => [cbsa, name]));
      const isChosen = isOfKind(kind);
      const targets = (await snapshot.find(forecasts)).filter(
        (row) => since <= row.target_period && row.target_period <= until && isChosen(row),
      );
      return { data: breakdownOf(runs, targets, names, by) };
    },
  }),
];
