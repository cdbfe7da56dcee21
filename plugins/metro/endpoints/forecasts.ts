import { dataRoute, definePlugin, guidePage, type SnapshotReader, version } from 'metro-forecast-api/plugin';
import {
  backtests,
  coefficients,
  date,
  dateTime,
  forecastRuns,
  forecasts,
  inputs,
  markets,
  nullable,
  percent,
  record,
  runAt,
  runOrigin,
  runRules,
  signalChangeShare,
  text,
} from '../collections.js';
import { HORIZON_MONTHS, HORIZONS, type Horizon } from '../forecast/model.js';
import { backtestRoutes } from './backtest-routes.js';
import { driverRoutes } from './drivers.js';
import { components } from './forecast-status.js';
import { listParameters } from './list-parameters.js';
import { type MarketRow, marketExample, marketRow, marketSchema } from './markets.js';
import { quantileRoutes } from './quantiles.js';
import { completedRuns, horizonParameter, listResponse, originOf, originProperties } from './shared.js';
import { trackRoutes } from './tracks.js';

const runProperties = {
  id: { type: 'integer' },
  model_version: text,
  run_at: runAt,
  features: { type: ['array', 'null'], items: text, description: 'Model features used by the run.' },
  notes: nullable({ type: 'string' }),
  horizon_months: { type: 'integer', minimum: 1 },
  ...originProperties,
  data_through: { ...nullable(date), description: runOrigin.data_through.description },
  computed_at: { ...nullable(dateTime), description: runOrigin.computed_at.description },
  published_at: { ...nullable(dateTime), description: runOrigin.published_at.description },
  rules: { anyOf: [runRules, { type: 'null' }], description: 'Rules for signals and grades in this run.' },
  coefficients: { ...coefficients, description: 'Coefficients estimated by the run. Empty if it published none.' },
  signal_change_share: { ...nullable(signalChangeShare), description: signalChangeShare.description },
  inputs: { ...inputs, description: `${inputs.description} Empty if the run published none.` },
} as const;

const forecastSchema = {
  ...marketSchema,
  title: 'MarketForecast',
  properties: {
    ...marketSchema.properties,
    horizon_months: { type: 'integer', enum: HORIZONS, description: horizonParameter.description },
    point: { ...percent, description: 'Point forecast of the change over the horizon, in percent.' },
  },
} as const;

type ForecastRow = MarketRow & { readonly horizon_months: Horizon; readonly point: number };

const forecastList = listParameters<ForecastRow>(forecastSchema);

const newestForecasts = async (snapshot: SnapshotReader, horizon_months: Horizon): Promise<ForecastRow[]> => {
  const rows = (await snapshot.find(markets)).map(marketRow);
  if (horizon_months === HORIZON_MONTHS) {
    return rows.flatMap((row) =>
      row.forecast_12m === null ? [] : [{ ...row, horizon_months, point: row.forecast_12m }],
    );
  }
  const [run] = await completedRuns(snapshot, horizon_months);
  if (!run) return [];
  const { basis } = originOf(run);
  const made = await snapshot.find(forecasts, { equal: { run_id: run.id } });
  const byMarket = new Map(made.map((forecast) => [forecast.cbsa, forecast]));
  return rows.flatMap((row) => {
    const forecast = byMarket.get(row.cbsa);
    if (!forecast) return [];
    const { point, lower_80, upper_80, decline_probability = null, target_period, run_id } = forecast;
    return [{ ...row, lower_80, upper_80, decline_probability, target_period, run_id, basis, horizon_months, point }];
  });
};

export default definePlugin({
  name: 'forecasts',
  version,
  description: 'The newest forecasts, all past forecasts, the runs that computed them, and their backtest.',
  needs: ['markets'],
  collections: [markets, forecastRuns, forecasts, backtests],
  // The methodology page shows figures from the current snapshot. It therefore belongs to this plugin, and not to the
  // plugin that serves the documentation.
  mounts: () => [
    guidePage('/docs/methodology', 'Methodology', 'explanation/methodology.md', {
      folder: new URL('../explorer/browser/methodology/', import.meta.url),
      at: 'plugins/metro/explorer/browser/methodology',
      name: 'main.js',
    }),
  ],
  components,
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of routes
  routes: () => [
    dataRoute({
      path: '/forecasts',
      operationId: 'listForecasts',
      vintages: true,
      summary: 'The markets with a forecast',
      description:
        'Like `/markets`, but only with markets that have a forecast. `point`, the bounds, the probability, the target, the ' +
        'run and its basis refer to `horizon_months`. `forecast_12m`, signal and grade always refer to 12 months.',
      parameters: { query: { ...forecastList.parameters, horizon_months: horizonParameter } },
      columns: forecastList.columns,
      normalize: forecastList.normalize,
      response: {
        ...listResponse('Markets with a forecast.', forecastSchema, {
          ...marketExample,
          horizon_months: 12,
          point: 3.05,
        }),
        headers: forecastList.headers,
      },
      handler: async ({ horizon_months, ...input }, context) =>
        forecastList.respond(await newestForecasts(context.snapshot, horizon_months), input, context),
    }),
    ...trackRoutes,
    dataRoute({
      path: '/forecast-runs',
      operationId: 'listForecastRuns',
      vintages: true,
      summary: 'Every completed model run',
      description: 'Newest first.',
      parameters: { query: { horizon_months: horizonParameter } },
      response: listResponse(
        'Completed runs.',
        { title: 'ForecastRun', ...record(runProperties) },
        {
          id: 20243,
          model_version: 'pooled-momentum-1.0',
          run_at: '2024-12-01T00:00:00Z',
          features: ['g4', 's1', 'n1'],
          notes: null,
          horizon_months: 12,
          basis: 'published',
          vintage: '2024-11-26',
          data_through: '2024-07-01',
          computed_at: '2024-11-26T14:00:00Z',
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
      ),
      handler: async ({ horizon_months }, { snapshot }) => ({
        data: (await completedRuns(snapshot, horizon_months)).map((run) => ({
          id: run.id,
          model_version: run.model_version,
          run_at: run.run_at,
          features: run.features,
          notes: run.notes,
          horizon_months: run.horizon_months,
          ...originOf(run),
          data_through: run.data_through ?? null,
          computed_at: run.computed_at ?? null,
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
    ...quantileRoutes,
  ],
});
