/** Defines the name, the description and the change list of the Metro Forecast API. */
import { conventions, type InterfaceChange, type ServiceInfo } from 'metro-forecast-api/plugin';

const { methods, limits, caching } = conventions;

const lists = ['listMarkets', 'listForecasts', 'listSignals'];

/** The changes of the API, newest first. The API reference shows them. */
const changes: readonly InterfaceChange[] = [
  {
    version: 'Unreleased',
    summary: 'Forecasts for 3, 6 and 24 months, with their backtests: `horizon_months`.',
    operations: [
      'listForecasts',
      'getForecastHistory',
      'getForecastTrack',
      'listForecastHistories',
      'listForecastTracks',
      'listForecastRuns',
      'getForecastBacktest',
    ],
  },
  {
    version: 'Unreleased',
    summary: 'The nation and the states, with an index and a forecast: `kind=state,nation`.',
    operations: [
      ...lists,
      'listMovers',
      'listAreas',
      'listForecastHistories',
      'listForecastTracks',
      'getForecastBacktestBreakdown',
    ],
  },
  { version: 'Unreleased', summary: 'Quantiles of the newest forecast.', operations: ['getMarketQuantiles'] },
  {
    version: 'Unreleased',
    summary: 'What each input of the model contributes to a forecast, and the main driver of each mover.',
    operations: ['getMarketDrivers', 'listMovers'],
  },
  {
    version: 'Unreleased',
    summary:
      'Points of three benchmarks in tracks; their errors, Brier scores and groups of probabilities in the backtest.',
    operations: ['getForecastTrack', 'listForecastTracks', 'getForecastBacktest', 'getForecastBacktestBreakdown'],
  },
  {
    version: 'Unreleased',
    summary: 'Paging of lists by `limit` and `after`, with the next page in the header `Link`; `fields` of choice.',
    operations: [...lists, 'listMovers'],
  },
  {
    version: 'Unreleased',
    summary:
      'Several `series_id` and `cbsa` in one request; `units` of level, change, logarithm, year over year or real.',
    operations: ['listObservations'],
  },
  {
    version: 'Unreleased',
    summary: "FHFA's `standard_error` of the index, with `fields`.",
    operations: ['getMarketHistory'],
  },
  {
    version: 'Unreleased',
    summary: 'Lists as NDJSON: `format=ndjson` or `Accept: application/x-ndjson`.',
  },
  {
    version: 'Unreleased',
    summary: 'Lists as Apache Parquet, with types: `format=parquet` or `Accept: application/vnd.apache.parquet`.',
  },
  {
    version: 'Unreleased',
    summary: 'The published versions, with their changes.',
    operations: ['listVintages'],
  },
  {
    version: 'Unreleased',
    summary: 'Readiness of a replica: it has a dataset and is not shutting down.',
    operations: ['getReady'],
  },
  {
    version: 'Unreleased',
    summary: 'Lists of markets can be filtered by `state`, `signal` and `risk_score`, and sorted by `sort`.',
    operations: [...lists, 'listMovers'],
  },
  {
    version: 'Unreleased',
    summary:
      'Every metropolitan area and division, with or without an index. The 404 of a divided metro names its divisions.',
    operations: ['listAreas', 'getArea'],
  },
  {
    version: 'Unreleased',
    summary: 'The interval, probability, target, run and basis of the newest forecast of each market.',
    operations: ['listMarkets', 'getMarket', 'listForecasts'],
  },
  {
    version: 'Unreleased',
    summary: 'Forecast histories and tracks of all metros, or of those in `cbsa`, in one request.',
    operations: ['listForecastHistories', 'listForecastTracks'],
  },
  {
    version: 'Unreleased',
    summary: '`basis` and `vintage` of runs, forecast histories and tracks; `computed_at` and `data_through` of runs.',
    operations: [
      'listForecastRuns',
      'getForecastHistory',
      'getForecastTrack',
      'listForecastHistories',
      'listForecastTracks',
    ],
  },
  {
    version: 'Unreleased',
    summary: 'The backtest broken down by year, quarter, grade, signal, state, size, probability or basis.',
    operations: ['getForecastBacktestBreakdown'],
  },
  {
    version: 'Unreleased',
    summary: 'The backtest has `base_rate_up`, `declines` and `declines_called`.',
    operations: ['getForecastBacktest'],
  },
  {
    version: 'Unreleased',
    summary: '`since` and `until` on histories, tracks and observations.',
    operations: [
      'getMarketHistory',
      'getForecastHistory',
      'getForecastTrack',
      'listForecastHistories',
      'listForecastTracks',
      'listObservations',
    ],
  },
  { version: 'Unreleased', summary: '`as_of` on every data endpoint.' },
  { version: '1.0.0', summary: 'The first version.' },
];

export const metroService: Partial<ServiceInfo> = {
  name: 'metro-forecast',
  title: 'Metro Forecast API',
  version: '1.0.0',
  summary: 'House-price forecasts, signals, risk grades and index history for US metros.',
  description: `Read-only access to per-metro house-price forecasts, signals, risk grades and index history, with raw
macro series and a status page.

**Units.** Returns, changes and interval bounds are in percent; differences of two percentages end in \`_pp\`; rates
are fractions from 0 to 1. Dates are \`YYYY-MM-DD\`, timestamps RFC 3339 in UTC.`,
  conventions: `**Lists** are \`{"data": [...]}\`. A nullable key is always present, unless \`fields\` omits it. Every response comes from one published snapshot,
named by its \`Snapshot-Version\` header.

**CSV.** Lists are sent as CSV too (RFC 4180), by \`format=csv\` or \`Accept: text/csv\`. Columns are the properties of the
rows. Null is an empty field; an array is one field of JSON. Codes have leading zeros: read \`cbsa\` as text. Texts that
a spreadsheet would run as a formula begin with an apostrophe.

**Vintages.** History, observations, forecasts and signals can be asked \`as_of\` a date: they are answered from the
snapshot that was current when that day ended, in UTC, where the store keeps it.

${methods}

${limits}

${caching}`,
  changes,
  license: { name: 'MIT', identifier: 'MIT' },
  instructions: `Returns, changes and interval bounds are in percent; names that end in _pp are differences of percentages; rates are
fractions from 0 to 1. Null is an unknown value. Look up codes in a list before you request a single item.`,
  keyPrefix: 'mfk_',
};
