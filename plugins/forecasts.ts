/** Forecasts: what the model says now, what it said at each past run, and how well that came true. */
import { dataRoute, definePlugin, type SnapshotReader } from '../core/contracts/plugin.js';
import {
  backtests,
  date,
  dateTime,
  type Forecast,
  forecastRuns,
  forecasts,
  markets,
  nullable,
  percent,
  record,
  riskScore,
  signal,
  text,
} from '../metro/collections.js';
import { components } from './forecast-status.js';
import { marketExample, marketSchema } from './markets.js';
import {
  cbsaParameter,
  completedRuns,
  difference,
  listOf,
  marketNotFound,
  PLUGIN_VERSION,
  requireMarket,
} from './shared.js';

const historyProperties = {
  run_at: { ...dateTime, description: 'When the run was made.' },
  model_version: { ...text, description: 'Identifier of the model version.' },
  horizon_months: { type: 'integer', minimum: 1, description: 'Forecast horizon in months.' },
  target_period: { ...date, description: 'First day of the quarter whose 12-month change is forecast.' },
  point: { ...percent, description: 'Point forecast, in percent.' },
  lower_80: { ...nullable(percent), description: 'Lower bound of the 80% interval, in percent.' },
  upper_80: { ...nullable(percent), description: 'Upper bound of the 80% interval, in percent.' },
};

const historyExample = {
  run_at: '2024-12-01T00:00:00Z',
  model_version: 'pooled-momentum-1.0',
  horizon_months: 12,
  target_period: '2025-07-01',
  point: 3.05,
  lower_80: -1.2,
  upper_80: 7.3,
};

const trackProperties = {
  ...historyProperties,
  run_id: { type: 'integer' },
  signal,
  risk_score: riskScore,
  realized: { ...nullable(percent), description: 'The published 12-month change at `target_period`, in percent.' },
  error_pp: { ...nullable(percent), description: '`realized` - `point`, in percentage points.' },
  within_80: { type: ['boolean', 'null'], description: 'Whether `realized` lies in the 80% interval.' },
  realized_as_of: { ...nullable(date), description: 'The vintage that `realized` was read from.' },
};

const runProperties = {
  id: { type: 'integer' },
  model_version: text,
  run_at: dateTime,
  features: { type: ['array', 'null'], items: text, description: 'Feature set of the run.' },
  notes: nullable({ type: 'string' }),
  horizon_months: { type: 'integer', minimum: 1 },
};

const asHistory = ({ run_at, model_version, horizon_months, target_period, point, lower_80, upper_80 }: Forecast) => ({
  run_at,
  model_version,
  horizon_months,
  target_period,
  point,
  lower_80,
  upper_80,
});

const asTrack = (forecast: Forecast) => {
  const { run_id, signal, risk_score, point, lower_80, upper_80, realized, realized_as_of } = forecast;
  const judged = realized !== null && lower_80 !== null && upper_80 !== null;
  return {
    ...asHistory(forecast),
    run_id,
    signal,
    risk_score,
    realized,
    error_pp: realized === null ? null : difference(realized, point),
    within_80: judged ? lower_80 <= realized && realized <= upper_80 : null,
    realized_as_of,
  };
};

/** The market's forecasts of completed runs, oldest first. Throws `market_not_found`. */
const forecastsOf = async (snapshot: SnapshotReader, cbsa: string): Promise<Forecast[]> => {
  await requireMarket(snapshot, cbsa);
  const completed = new Set((await completedRuns(snapshot)).map(({ id }) => id));
  const rows = await snapshot.find(forecasts, { order: ['cbsa', 'run_at', 'run_id'], equal: { cbsa } });
  return rows.filter(({ run_id }) => completed.has(run_id));
};

const MONTH_MS = (365.25 / 12) * 24 * 3600 * 1000;

export default definePlugin({
  name: 'forecasts',
  version: PLUGIN_VERSION,
  description: 'The 12-month forecasts: the newest, all past ones, the runs that made them and their backtest.',
  needs: ['markets'],
  collections: [markets, forecastRuns, forecasts, backtests],
  components,
  routes: () => [
    dataRoute({
      path: '/forecasts',
      operationId: 'listForecasts',
      vintages: true,
      summary: 'The markets that have a scored forecast',
      description: 'As `/markets`, restricted to markets whose `forecast_12m` is not null.',
      response: {
        description: 'Markets with a forecast.',
        schema: listOf(marketSchema),
        example: { data: [marketExample] },
      },
      handler: async (_input, { snapshot }) => {
        const all = await snapshot.find(markets);
        return { data: all.filter(({ forecast_12m }) => forecast_12m !== null) };
      },
    }),
    dataRoute<{ cbsa: string }>({
      path: '/forecasts/{cbsa}/history',
      operationId: 'getForecastHistory',
      vintages: true,
      summary: 'What the model predicted for one market at each past run',
      description: 'Rows of completed runs, oldest first.',
      parameters: { path: { cbsa: cbsaParameter } },
      errors: [marketNotFound],
      response: {
        description: 'One row a run.',
        schema: listOf({ title: 'ForecastHistory', ...record(historyProperties) }),
        example: { data: [historyExample] },
      },
      handler: async ({ cbsa }, { snapshot }) => ({ data: (await forecastsOf(snapshot, cbsa)).map(asHistory) }),
    }),
    dataRoute<{ cbsa: string }>({
      path: '/markets/{cbsa}/forecast-track',
      operationId: 'getForecastTrack',
      vintages: true,
      summary: 'Each past forecast of one market beside what came true',
      description: 'One row per completed run that scored the market, oldest first.',
      parameters: { path: { cbsa: cbsaParameter } },
      errors: [marketNotFound],
      response: {
        description: 'One row a run.',
        schema: listOf({ title: 'ForecastTrack', ...record(trackProperties) }),
        example: {
          data: [
            {
              ...historyExample,
              run_id: 20243,
              signal: 'hold',
              risk_score: 'B',
              realized: 2.31,
              error_pp: -0.74,
              within_80: true,
              realized_as_of: '2025-12-31',
            },
          ],
        },
      },
      handler: async ({ cbsa }, { snapshot }) => ({ data: (await forecastsOf(snapshot, cbsa)).map(asTrack) }),
    }),
    dataRoute({
      path: '/forecast-runs',
      operationId: 'listForecastRuns',
      summary: 'Every completed model run',
      description: 'Newest first.',
      response: {
        description: 'Completed runs.',
        schema: listOf({ title: 'ForecastRun', ...record(runProperties) }),
        example: {
          data: [
            {
              id: 20243,
              model_version: 'pooled-momentum-1.0',
              run_at: '2024-12-01T00:00:00Z',
              features: ['g4', 's1', 'n1'],
              notes: null,
              horizon_months: 12,
            },
          ],
        },
      },
      handler: async (_input, { snapshot }) => ({
        data: (await completedRuns(snapshot)).map(({ id, model_version, run_at, features, notes, horizon_months }) => ({
          id,
          model_version,
          run_at,
          features,
          notes,
          horizon_months,
        })),
      }),
    }),
    dataRoute({
      path: '/forecast-backtest',
      operationId: 'getForecastBacktest',
      summary: 'The newest rolling-realized backtest of the baseline forecast',
      description:
        'Scores past forecasts whose target has been published. Null while the completed runs span under 12 months.',
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
            realized_vintage: '2025-12-31',
          },
        },
      },
      handler: async (_input, { snapshot }) => {
        const runs = await completedRuns(snapshot);
        const newest = runs[0];
        const oldest = runs.at(-1);
        if (!newest || !oldest) return { data: null };
        // A day's grace: twelve months are not always as long as twelve mean months.
        const months = (Date.parse(newest.run_at) - Date.parse(oldest.run_at)) / MONTH_MS;
        if (months < 12 - 0.05) return { data: null };
        const [row] = await snapshot.find(backtests, { descending: true, limit: 1 });
        return { data: row ?? null };
      },
    }),
  ],
});
