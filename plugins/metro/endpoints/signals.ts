import { dataRoute, definePlugin, type SnapshotReader, version } from 'metro-forecast-api/plugin';
import {
  cbsa,
  dateTime,
  type Forecast,
  type ForecastRun,
  forecast12m,
  forecastRuns,
  forecasts,
  lower80,
  markets,
  nullable,
  percent,
  record,
  riskScore,
  runOrigin,
  signal,
  text,
  upper80,
} from '../collections.js';
import { mainDriverOf, mainDriverProperties } from './drivers.js';
import { type ListRow, listParameters } from './list-parameters.js';
import { completedRuns, difference, listResponse, originOf } from './shared.js';

interface Scored {
  readonly name: string;
  readonly forecast: Forecast;
}

const scoredBy = async (snapshot: SnapshotReader, run: ForecastRun): Promise<Scored[]> => {
  const names = new Map((await snapshot.find(markets)).map((market) => [market.cbsa, market.name]));
  const rows = await snapshot.find(forecasts, { equal: { run_id: run.id } });
  return rows.flatMap((forecast) => {
    const name = names.get(forecast.cbsa);
    return name === undefined ? [] : { name, forecast };
  });
};

const signalRow = {
  title: 'MarketSignal',
  ...record(
    { cbsa, name: text },
    {
      signal,
      risk_score: riskScore,
      forecast_12m: forecast12m,
      lower_80: nullable(lower80),
      upper_80: nullable(upper80),
      run_id: { type: 'integer' },
      run_at: dateTime,
      model_version: text,
      basis: runOrigin.basis,
    },
  ),
};

const moverRow = {
  title: 'Mover',
  ...record(
    { cbsa, name: text },
    {
      forecast_12m: percent,
      prior_forecast_12m: percent,
      delta_pp: { type: 'number', description: 'Signed change from the prior forecast, in percentage points.' },
      signal,
      prior_signal: signal,
      run_at: dateTime,
      prior_run_at: dateTime,
      basis: runOrigin.basis,
      prior_basis: { ...runOrigin.basis, description: 'Whether the prior run was published or reconstructed.' },
      ...mainDriverProperties,
    },
  ),
};

const signalList = listParameters(signalRow);

const CHANGE = 'absolute delta_pp';
const moverList = listParameters<ListRow & { readonly delta_pp: number }>(moverRow, {
  order: [`-${CHANGE}`, 'cbsa'],
  read: (row, field) => (field === CHANGE ? Math.abs(row.delta_pp) : row.cbsa),
});

export default definePlugin({
  name: 'signals',
  version,
  description: 'Signals and risk grades of the newest run, and the markets whose forecasts changed most.',
  needs: ['markets'],
  collections: [markets, forecastRuns, forecasts],
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of routes
  routes: () => [
    dataRoute({
      path: '/signals',
      operationId: 'listSignals',
      vintages: true,
      summary: 'Signal and risk grade of every market in the newest completed run',
      description: 'Ordered by CBSA code unless `sort` says otherwise.',
      parameters: { query: signalList.parameters },
      columns: signalList.columns,
      normalize: signalList.normalize,
      response: {
        ...listResponse('One row per market that the run scored.', signalRow, {
          cbsa: '26420',
          name: 'Houston-Pasadena-The Woodlands, TX',
          signal: 'hold',
          risk_score: 'B',
          forecast_12m: 3.05,
          lower_80: -1.2,
          upper_80: 7.3,
          run_id: 20254,
          run_at: '2026-02-24T00:00:00Z',
          model_version: 'pooled-momentum-1.0',
          basis: 'published',
        }),
        headers: signalList.headers,
      },
      async handler(input, context) {
        const { snapshot } = context;
        const [run] = await completedRuns(snapshot);
        if (!run) return { data: [] };
        const rows = (await scoredBy(snapshot, run)).map(({ name, forecast }) => ({
          cbsa: forecast.cbsa,
          name,
          signal: forecast.signal,
          risk_score: forecast.risk_score,
          forecast_12m: forecast.point,
          lower_80: forecast.lower_80,
          upper_80: forecast.upper_80,
          run_id: run.id,
          run_at: run.run_at,
          model_version: run.model_version,
          basis: originOf(run).basis,
        }));
        return signalList.respond(rows, input, context);
      },
    }),
    dataRoute({
      path: '/movers',
      operationId: 'listMovers',
      vintages: true,
      summary: 'The markets whose 12-month forecast changed most between the last two runs',
      description:
        'Ordered by the absolute value of `delta_pp`, largest first, then by CBSA code. Markets missing from either run ' +
        'are left out. The list is empty if there are fewer than two completed runs.',
      parameters: {
        query: {
          ...moverList.parameters,
          limit: {
            description: 'Maximum number of rows.',
            schema: { type: 'integer', minimum: 1, maximum: 50, default: 5 },
            example: 5,
          },
        },
      },
      columns: moverList.columns,
      normalize: moverList.normalize,
      response: {
        ...listResponse('The largest changes.', moverRow, {
          cbsa: '26420',
          name: 'Houston-Pasadena-The Woodlands, TX',
          forecast_12m: 3.05,
          prior_forecast_12m: 1.1,
          delta_pp: 1.95,
          signal: 'hold',
          prior_signal: 'hold',
          run_at: '2026-02-24T00:00:00Z',
          prior_run_at: '2025-11-25T00:00:00Z',
          basis: 'published',
          prior_basis: 'published',
          driver: 'new_home_sales',
          driver_pp: 1.4,
        }),
        headers: moverList.headers,
      },
      async handler(input, context) {
        const { snapshot } = context;
        const [run, priorRun] = await completedRuns(snapshot);
        if (!run || !priorRun) return { data: [] };
        const rows = await snapshot.find(forecasts, { equal: { run_id: priorRun.id } });
        const prior = new Map(rows.map((row) => [row.cbsa, row]));
        const moved = (await scoredBy(snapshot, run)).flatMap(({ name, forecast }) => {
          const before = prior.get(forecast.cbsa);
          if (!before) return [];
          return {
            cbsa: forecast.cbsa,
            name,
            forecast_12m: forecast.point,
            prior_forecast_12m: before.point,
            delta_pp: difference(forecast.point, before.point),
            signal: forecast.signal,
            prior_signal: before.signal,
            run_at: run.run_at,
            prior_run_at: priorRun.run_at,
            basis: originOf(run).basis,
            prior_basis: originOf(priorRun).basis,
            ...mainDriverOf([run, forecast], [priorRun, before]),
          };
        });
        return moverList.respond(moved, input, context);
      },
    }),
  ],
});
