import { dataRoute, type Route, type SnapshotReader } from 'metro-forecast-api/plugin';
import {
  benchmarkPoints,
  cbsa,
  date,
  declineProbability,
  type Forecast,
  type ForecastRun,
  forecasts,
  lower80,
  nullable,
  percent,
  record,
  riskScore,
  runAt,
  signal,
  targetPeriod,
  text,
  upper80,
} from '../collections.js';
import type { Horizon } from '../forecast/model.js';
import { isOfKind, kindParameter, normalizeKind } from './list-parameters.js';
import {
  cbsaList,
  cbsaParameter,
  completedRuns,
  difference,
  horizonParameter,
  listResponse,
  marketNotFound,
  originOf,
  originProperties,
  requireMarket,
  sortedCodes,
} from './shared.js';
import { checkSpan, type Span, spanParameters } from './spans.js';

const historyProperties = {
  run_at: runAt,
  model_version: { ...text, description: 'Identifier of the model version.' },
  horizon_months: { type: 'integer', minimum: 1, description: 'Forecast horizon in months.' },
  target_period: targetPeriod,
  point: { ...percent, description: 'Point forecast, in percent.' },
  lower_80: nullable(lower80),
  upper_80: nullable(upper80),
} as const;

const historyExample = {
  run_at: '2024-12-01T00:00:00Z',
  model_version: 'pooled-momentum-1.0',
  horizon_months: 12,
  target_period: '2025-07-01',
  point: 3.05,
  lower_80: -1.2,
  upper_80: 7.3,
  basis: 'published',
  vintage: '2024-11-26',
};

const trackProperties = {
  ...historyProperties,
  ...originProperties,
  run_id: { type: 'integer' },
  signal,
  risk_score: riskScore,
  realized: { ...nullable(percent), description: 'Published 12-month change at `target_period`, in percent.' },
  error_pp: { ...nullable(percent), description: '`realized` - `point`, in percentage points.' },
  within_80: { type: ['boolean', 'null'], description: 'Whether `realized` is within the 80% interval.' },
  realized_as_of: { ...nullable(date), description: 'Vintage of `realized`.' },
  decline_probability: declineProbability,
  ...benchmarkPoints,
} as const;

const trackExample = {
  ...historyExample,
  run_id: 20243,
  signal: 'hold',
  risk_score: 'B',
  realized: 2.31,
  error_pp: -0.74,
  within_80: true,
  realized_as_of: '2026-02-24',
  decline_probability: 0.14,
  benchmark: 2.4,
  ar1_nation: 3.3,
  shrunk_mean: 3.1,
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

interface HorizonSpan extends Span {
  readonly horizon_months: Horizon;
}

type AsRow<T> = (forecast: Forecast, run: ForecastRun) => T;

const rowsIn = async <T>(
  snapshot: SnapshotReader,
  { since = '', until = '9999', horizon_months }: HorizonSpan,
  asRow: AsRow<T>,
) => {
  const completed = new Map((await completedRuns(snapshot, horizon_months)).map((run) => [run.id, run]));
  return (batch: readonly Forecast[]): T[] =>
    batch.flatMap((forecast) => {
      const run = completed.get(forecast.run_id);
      const { target_period: target } = forecast;
      return run && since <= target && target <= until ? [asRow(forecast, run)] : [];
    });
};

const BY_MARKET = ['cbsa', 'run_at', 'run_id'] as const;

/**
 * Returns the forecasts of an area. An area is no longer a market if its boundaries change, but its published forecasts
 * are kept.
 * @throws ApiError `market_not_found` if the area is not a market and has no forecasts
 */
const forecastsOf = async (snapshot: SnapshotReader, cbsa: string): Promise<readonly Forecast[]> => {
  const found = await snapshot.find(forecasts, { order: BY_MARKET, equal: { cbsa } });
  if (found.length === 0) await requireMarket(snapshot, cbsa);
  return found;
};

/** @throws ApiError `market_not_found` */
const rowsOfOne = async <T>(
  snapshot: SnapshotReader,
  cbsa: string,
  span: HorizonSpan,
  asRow: AsRow<T>,
): Promise<T[]> => {
  const rows = await rowsIn(snapshot, span, asRow);
  return rows(await forecastsOf(snapshot, cbsa));
};

interface Selection extends HorizonSpan {
  readonly cbsa?: readonly string[];
  readonly kind?: readonly string[];
}

/** @throws ApiError `market_not_found` */
const rowsOfMany = async <T extends object>(
  snapshot: SnapshotReader,
  { cbsa: codes, kind, ...span }: Selection,
  asRow: AsRow<T>,
) => {
  const rows = await rowsIn(snapshot, span, (forecast, run) => ({ cbsa: forecast.cbsa, ...asRow(forecast, run) }));
  const some: (readonly Forecast[])[] = [];
  for (const code of codes ?? []) some.push(await forecastsOf(snapshot, code));
  const batches = codes === undefined ? snapshot.stream(forecasts, { order: BY_MARKET }) : some;
  const isChosen = codes && !kind ? () => true : isOfKind(kind);
  return (async function* () {
    for await (const batch of batches) yield rows(batch.filter(isChosen));
  })();
};

const trackParameters = { ...spanParameters, horizon_months: horizonParameter };

const many = {
  parameters: {
    query: {
      ...trackParameters,
      cbsa: cbsaList('Restricts the list to these areas.'),
      kind: {
        ...kindParameter,
        description: `${kindParameter.description} If \`cbsa\` is given, the default is all kinds.`,
      },
    },
  },
  errors: [marketNotFound],
  check: checkSpan,
  // If the request contains `cbsa`, the default of `kind` does not apply.
  normalize: (input: Selection) => (input.cbsa === undefined ? normalizeKind(input) : sortedCodes(input)),
} as const;

export const trackRoutes: readonly Route[] = [
  dataRoute({
    path: '/forecasts/{cbsa}/history',
    operationId: 'getForecastHistory',
    vintages: true,
    summary: 'The past forecasts for one market',
    description:
      'Rows of completed runs, oldest first. Rows with the `basis` `published` are a track record. Rows with the `basis` ' +
      '`reconstructed` were computed later from revised data. They show how the model works. Do not use them to test a ' +
      'trading rule.',
    parameters: { path: { cbsa: cbsaParameter }, query: trackParameters },
    errors: [marketNotFound],
    check: checkSpan,
    response: listResponse(
      'One row per run.',
      { title: 'ForecastHistory', ...record({ ...historyProperties, ...originProperties }) },
      historyExample,
    ),
    handler: async ({ cbsa, ...span }, { snapshot }) => ({
      data: await rowsOfOne(snapshot, cbsa, span, asHistory),
    }),
  }),
  dataRoute({
    path: '/markets/{cbsa}/forecast-track',
    operationId: 'getForecastTrack',
    vintages: true,
    summary: 'The past forecasts for one market, with realized values',
    description: 'One row per completed run that scored the market, oldest first.',
    parameters: { path: { cbsa: cbsaParameter }, query: trackParameters },
    errors: [marketNotFound],
    check: checkSpan,
    response: listResponse('One row per run.', { title: 'ForecastTrack', ...record(trackProperties) }, trackExample),
    handler: async ({ cbsa, ...span }, { snapshot }) => ({ data: await rowsOfOne(snapshot, cbsa, span, asTrack) }),
  }),
  dataRoute({
    path: '/forecast-history',
    operationId: 'listForecastHistories',
    vintages: true,
    summary: 'The past forecasts for all markets',
    description:
      'The rows of `/forecasts/{cbsa}/history` for all areas, by CBSA code, then oldest first. Areas that were redrawn keep ' +
      'their published forecasts.',
    ...many,
    response: listResponse(
      'One row per market and run.',
      {
        title: 'AreaForecastHistory',
        ...record({ cbsa, ...historyProperties, ...originProperties }),
      },
      { cbsa: '26420', ...historyExample },
    ),
    handler: async (span, { snapshot }) => ({ data: await rowsOfMany(snapshot, span, asHistory) }),
  }),
  dataRoute({
    path: '/forecast-track',
    operationId: 'listForecastTracks',
    vintages: true,
    summary: 'The past forecasts for all markets, with realized values',
    description:
      'The rows of `/markets/{cbsa}/forecast-track` for all areas, by CBSA code, then oldest first. Areas that were redrawn ' +
      'keep their published forecasts.',
    ...many,
    response: listResponse(
      'One row per market and run.',
      { title: 'AreaForecastTrack', ...record({ cbsa, ...trackProperties }) },
      { cbsa: '26420', ...trackExample },
    ),
    handler: async (span, { snapshot }) => ({ data: await rowsOfMany(snapshot, span, asTrack) }),
  }),
];
