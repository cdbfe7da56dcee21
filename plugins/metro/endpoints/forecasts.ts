/** Forecasts: the newest forecasts, all past forecasts, and the runs that computed them. */

import { dataRoute, definePlugin, type SnapshotReader, version } from 'metro-forecast-api/plugin';
import {
  backtests,
  benchmarkPoints,
  cbsa,
  coefficients,
  date,
  dateTime,
  type Forecast,
  type ForecastRun,
  forecastRuns,
  forecasts,
  inputs,
  lower80,
  markets,
  nullable,
  percent,
  rate,
  record,
  riskScore,
  runOrigin,
  runRules,
  signal,
  signalChangeShare,
  text,
  upper80,
} from '../collections.js';
import { methodologyPage } from '../explorer/methodology.js';
import { backtestRoutes } from './backtest-routes.js';
import { driverRoutes } from './drivers.js';
import { components } from './forecast-status.js';
import { marketExample, marketList, marketSchema } from './markets.js';
import { cbsaParameter, completedRuns, difference, listOf, marketNotFound, requireMarket } from './shared.js';
import { checkSpan, type Span, spanParameters } from './spans.js';

const historyProperties = {
  run_at: { ...dateTime, description: 'Time of the run.' },
  model_version: { ...text, description: 'Identifier of the model version.' },
  horizon_months: { type: 'integer', minimum: 1, description: 'Forecast horizon in months.' },
  target_period: { ...date, description: 'First day of the quarter whose 12-month change is forecast.' },
  point: { ...percent, description: 'Point forecast, in percent.' },
  lower_80: nullable(lower80),
  upper_80: nullable(upper80),
};

/** The origin of the run of a row. */
const originProperties = {
  basis: runOrigin.basis,
  vintage: { ...nullable(runOrigin.vintage), description: runOrigin.vintage.description },
};

const originOf = ({ basis, vintage }: ForecastRun) => ({
  basis: basis ?? 'reconstructed',
  vintage: vintage ?? null,
});

const historyExample = {
  run_at: '2024-12-01T00:00:00Z',
  model_version: 'pooled-momentum-1.0',
  horizon_months: 12,
  target_period: '2025-07-01',
  point: 3.05,
  lower_80: -1.2,
  upper_80: 7.3,
  basis: 'published',
  vintage: '2024-09-30',
};

const trackProperties = {
  ...historyProperties,
  ...originProperties,
  run_id: { type: 'integer' },
  signal,
  risk_score: riskScore,
  realized: { ...nullable(percent), description: 'The published 12-month change at `target_period`, in percent.' },
  error_pp: { ...nullable(percent), description: '`realized` - `point`, in percentage points.' },
  within_80: { type: ['boolean', 'null'], description: 'Whether `realized` lies in the 80% interval.' },
  realized_as_of: { ...nullable(date), description: 'The vintage that `realized` was read from.' },
  decline_probability: { ...nullable(rate), description: 'Probability of a decline that `risk_score` grades.' },
  ...benchmarkPoints,
};

const trackExample = {
  ...historyExample,
  run_id: 20243,
  signal: 'hold',
  risk_score: 'B',
  realized: 2.31,
  error_pp: -0.74,
  within_80: true,
  realized_as_of: '2025-12-31',
  decline_probability: 0.14,
  benchmark: 2.4,
  ar1_nation: 3.3,
  shrunk_mean: 3.1,
};

const runProperties = {
  id: { type: 'integer' },
  model_version: text,
  run_at: dateTime,
  features: { type: ['array', 'null'], items: text, description: 'Features that the run used.' },
  notes: nullable({ type: 'string' }),
  horizon_months: { type: 'integer', minimum: 1 },
  ...originProperties,
  published_at: { ...nullable(dateTime), description: runOrigin.published_at.description },
  rules: { anyOf: [runRules, { type: 'null' }], description: 'The rules of signals and grades at the run.' },
  coefficients: { ...coefficients, description: 'Coefficients that the run estimated. Empty if it published none.' },
  signal_change_share: { ...nullable(signalChangeShare), description: signalChangeShare.description },
  inputs: { ...inputs, description: `${inputs.description} Empty if the run published none.` },
};

const asHistory = (
  { run_at, model_version, horizon_months, target_period, point, lower_80, upper_80 }: Forecast,
  run: ForecastRun,
) => ({
  run_at,
  model_version,
  horizon_months,
  target_period,
  point,
  lower_80,
  upper_80,
  ...originOf(run),
});

const asTrack = (forecast: Forecast, run: ForecastRun) => {
  const { run_id, signal, risk_score, point, lower_80, upper_80, realized, realized_as_of } = forecast;
  const judged = realized !== null && lower_80 !== null && upper_80 !== null;
  return {
    ...asHistory(forecast, run),
    run_id,
    signal,
    risk_score,
    realized,
    error_pp: realized === null ? null : difference(realized, point),
    within_80: judged ? lower_80 <= realized && realized <= upper_80 : null,
    realized_as_of,
    decline_probability: forecast.decline_probability ?? null,
    benchmark: forecast.benchmark ?? null,
    ar1_nation: forecast.ar1_nation ?? null,
    shrunk_mean: forecast.shrunk_mean ?? null,
  };
};

type AsRow<T> = (forecast: Forecast, run: ForecastRun) => T;

/** Returns a function that makes rows of the forecasts of completed runs, with targets in the span. */
const rowsIn = async <T>(snapshot: SnapshotReader, { since = '', until = '9999' }: Span, asRow: AsRow<T>) => {
  const completed = new Map((await completedRuns(snapshot)).map((run) => [run.id, run]));
  return (batch: readonly Forecast[]): T[] =>
    batch.flatMap((forecast) => {
      const run = completed.get(forecast.run_id);
      const { target_period: target } = forecast;
      return run && since <= target && target <= until ? [asRow(forecast, run)] : [];
    });
};

const BY_MARKET = ['cbsa', 'run_at', 'run_id'] as const;

/** Rows of one market, oldest first. @throws ApiError `market_not_found` */
const rowsOfMarket = async <T>(snapshot: SnapshotReader, cbsa: string, span: Span, asRow: AsRow<T>): Promise<T[]> => {
  await requireMarket(snapshot, cbsa);
  const rows = await rowsIn(snapshot, span, asRow);
  return rows(await snapshot.find(forecasts, { order: BY_MARKET, equal: { cbsa } }));
};

/** Rows of all markets, by code, then oldest first. */
async function* rowsOfAll<T extends object>(snapshot: SnapshotReader, span: Span, asRow: AsRow<T>) {
  const rows = await rowsIn(snapshot, span, (forecast, run) => ({ cbsa: forecast.cbsa, ...asRow(forecast, run) }));
  for await (const batch of snapshot.stream(forecasts, { order: BY_MARKET })) yield rows(batch);
}

export default definePlugin({
  name: 'forecasts',
  version,
  description: '12-month forecasts: the newest, all past forecasts, the runs that computed them, and their backtest.',
  needs: ['markets'],
  collections: [markets, forecastRuns, forecasts, backtests],
  // The page shows the figures of the served snapshot.
  mounts: () => [methodologyPage()],
  components,
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of routes
  routes: () => [
    dataRoute({
      path: '/forecasts',
      operationId: 'listForecasts',
      vintages: true,
      summary: 'The markets that have a scored forecast',
      description: 'As `/markets`, restricted to markets whose `forecast_12m` is not null.',
      parameters: { query: marketList.parameters },
      columns: marketList.columns,
      normalize: marketList.normalize,
      response: {
        description: 'Markets with a forecast.',
        schema: listOf(marketSchema),
        example: { data: [marketExample] },
        headers: marketList.headers,
      },
      handler: async (input, context) => {
        const scored = (await context.snapshot.find(markets)).filter(({ forecast_12m }) => forecast_12m !== null);
        return marketList.answer(scored, input, context);
      },
    }),
    dataRoute({
      path: '/forecasts/{cbsa}/history',
      operationId: 'getForecastHistory',
      vintages: true,
      summary: 'The past forecasts for one market',
      description:
        'Rows of completed runs, oldest first. Rows with the `basis` `published` are a track record. Rows with the `basis` ' +
        '`reconstructed` were computed later from revised data. They show how the model works; do not use them to test a ' +
        'trading rule.',
      parameters: { path: { cbsa: cbsaParameter }, query: spanParameters },
      errors: [marketNotFound],
      check: checkSpan,
      response: {
        description: 'One row per run.',
        schema: listOf({ title: 'ForecastHistory', ...record({ ...historyProperties, ...originProperties }) }),
        example: { data: [historyExample] },
      },
      handler: async ({ cbsa, ...span }, { snapshot }) => ({
        data: await rowsOfMarket(snapshot, cbsa, span, asHistory),
      }),
    }),
    dataRoute({
      path: '/markets/{cbsa}/forecast-track',
      operationId: 'getForecastTrack',
      vintages: true,
      summary: 'The past forecasts for one market, with realized values',
      description: 'One row per completed run that scored the market, oldest first.',
      parameters: { path: { cbsa: cbsaParameter }, query: spanParameters },
      errors: [marketNotFound],
      check: checkSpan,
      response: {
        description: 'One row per run.',
        schema: listOf({ title: 'ForecastTrack', ...record(trackProperties) }),
        example: {
          data: [trackExample],
        },
      },
      handler: async ({ cbsa, ...span }, { snapshot }) => ({ data: await rowsOfMarket(snapshot, cbsa, span, asTrack) }),
    }),
    dataRoute({
      path: '/forecast-history',
      operationId: 'listForecastHistories',
      vintages: true,
      summary: 'The past forecasts for all markets',
      description: 'The rows of `/forecasts/{cbsa}/history` of all areas, by CBSA code, then oldest first.',
      parameters: { query: spanParameters },
      check: checkSpan,
      response: {
        description: 'One row per market and run.',
        schema: listOf({
          title: 'AreaForecastHistory',
          ...record({ cbsa, ...historyProperties, ...originProperties }),
        }),
        example: { data: [{ cbsa: '26420', ...historyExample }] },
      },
      handler: async (span, { snapshot }) => ({ data: rowsOfAll(snapshot, span, asHistory) }),
    }),
    dataRoute({
      path: '/forecast-track',
      operationId: 'listForecastTracks',
      vintages: true,
      summary: 'The past forecasts for all markets, with realized values',
      description: 'The rows of `/markets/{cbsa}/forecast-track` of all areas, by CBSA code, then oldest first.',
      parameters: { query: spanParameters },
      check: checkSpan,
      response: {
        description: 'One row per market and run.',
        schema: listOf({ title: 'AreaForecastTrack', ...record({ cbsa, ...trackProperties }) }),
        example: { data: [{ cbsa: '26420', ...trackExample }] },
      },
      handler: async (span, { snapshot }) => ({ data: rowsOfAll(snapshot, span, asTrack) }),
    }),
    dataRoute({
      path: '/forecast-runs',
      operationId: 'listForecastRuns',
      vintages: true,
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
              basis: 'published',
              vintage: '2024-09-30',
              published_at: '2024-11-26T14:00:00Z',
              rules: {
                expand_point: 4,
                expand_lower: 0,
                contract_point: -1,
                margin: 1,
                grades: [0.1, 0.2, 0.35, 0.5],
              },
              coefficients: [{ name: 'growth_4q', value: 0.46 }],
              signal_change_share: 0.12,
              inputs: [{ name: 'growth_4q', mean_contribution_pp: 1.2 }],
            },
          ],
        },
      },
      handler: async (_input, { snapshot }) => ({
        data: (await completedRuns(snapshot)).map((run) => ({
          id: run.id,
          model_version: run.model_version,
          run_at: run.run_at,
          features: run.features,
          notes: run.notes,
          horizon_months: run.horizon_months,
          ...originOf(run),
          published_at: run.published_at ?? null,
          rules: run.rules ?? null,
          coefficients: run.coefficients ?? [],
          signal_change_share: run.signal_change_share ?? null,
          inputs: run.inputs ?? [],
        })),
      }),
    }),
    ...backtestRoutes,
    ...driverRoutes,
  ],
});
