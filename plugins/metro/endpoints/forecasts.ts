/** Endpoints for forecasts: the newest forecasts, all past forecasts, and the runs that computed them. */

import { dataRoute, definePlugin, version } from 'metro-forecast-api/plugin';
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
  record,
  runAt,
  runOrigin,
  runRules,
  signalChangeShare,
  text,
} from '../collections.js';
import { methodologyPage } from '../explorer/methodology.js';
import { backtestRoutes } from './backtest-routes.js';
import { driverRoutes } from './drivers.js';
import { components } from './forecast-status.js';
import { marketExample, marketList, marketRow, marketSchema } from './markets.js';
import { quantileRoutes } from './quantiles.js';
import { completedRuns, listOf, originOf, originProperties } from './shared.js';
import { trackRoutes } from './tracks.js';

const runProperties = {
  id: { type: 'integer' },
  model_version: text,
  run_at: runAt,
  features: { type: ['array', 'null'], items: text, description: 'Features that the run used.' },
  notes: nullable({ type: 'string' }),
  horizon_months: { type: 'integer', minimum: 1 },
  ...originProperties,
  data_through: { ...nullable(date), description: runOrigin.data_through.description },
  computed_at: { ...nullable(dateTime), description: runOrigin.computed_at.description },
  published_at: { ...nullable(dateTime), description: runOrigin.published_at.description },
  rules: { anyOf: [runRules, { type: 'null' }], description: 'The rules of signals and grades at the run.' },
  coefficients: { ...coefficients, description: 'Coefficients that the run estimated. Empty if it published none.' },
  signal_change_share: { ...nullable(signalChangeShare), description: signalChangeShare.description },
  inputs: { ...inputs, description: `${inputs.description} Empty if the run published none.` },
};

export default definePlugin({
  name: 'forecasts',
  version,
  description: '12-month forecasts: the newest, all past forecasts, the runs that computed them, and their backtest.',
  needs: ['markets'],
  collections: [markets, forecastRuns, forecasts, backtests],
  // The methodology page is part of this plugin because it shows figures from the served snapshot.
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
        return marketList.answer(scored.map(marketRow), input, context);
      },
    }),
    ...trackRoutes,
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
