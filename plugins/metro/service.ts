import { conventions, type InterfaceChange, type ServiceInfo } from 'metro-forecast-api/plugin';

const { methods, limits, caching } = conventions;

const lists = ['listMarkets', 'listForecasts', 'listSignals'];
const allTracks = ['listForecastHistories', 'listForecastTracks'];
const tracks = ['getForecastHistory', 'getForecastTrack', ...allTracks];

const unreleased = (summary: string, ...operations: readonly string[]): InterfaceChange => ({
  version: 'Unreleased',
  summary,
  ...(operations.length > 0 && { operations }),
});

const changes: readonly InterfaceChange[] = [
  unreleased(
    'Forecasts for 3, 6 and 24 months, with their backtests: `horizon_months`.',
    'listForecasts',
    ...tracks,
    'listForecastRuns',
    'getForecastBacktest',
  ),
  unreleased(
    'The nation and the states, with an index and a forecast: `kind=state,nation`.',
    ...lists,
    'listMovers',
    'listAreas',
    ...allTracks,
    'getForecastBacktestBreakdown',
  ),
  unreleased('Quantiles of the newest forecast.', 'getMarketQuantiles'),
  unreleased(
    'What each input of the model contributes to a forecast, and the main driver of each mover.',
    'getMarketDrivers',
    'listMovers',
  ),
  unreleased(
    'Forecasts of three benchmarks in tracks. Benchmark errors, Brier scores and groups by probability in the backtest.',
    'getForecastTrack',
    'listForecastTracks',
    'getForecastBacktest',
    'getForecastBacktestBreakdown',
  ),
  unreleased(
    'Paging of lists with `limit` and `after`, with the next page in the header `Link`. Field selection with `fields`.',
    ...lists,
    'listMovers',
  ),
  unreleased(
    'Several `series_id` and `cbsa` in one request. `units` for changes, logarithms, year-over-year changes and real values.',
    'listObservations',
  ),
  unreleased("FHFA's `standard_error` of the index, requested with `fields`.", 'getMarketHistory'),
  unreleased('Lists as NDJSON: `format=ndjson` or `Accept: application/x-ndjson`.'),
  unreleased('Lists as Apache Parquet, with types: `format=parquet` or `Accept: application/vnd.apache.parquet`.'),
  unreleased('The published versions, with their changes.', 'listVintages'),
  unreleased('Readiness check: the replica has a dataset and is not shutting down.', 'getReady'),
  unreleased(
    'Lists of markets can be filtered by `state`, `signal` and `risk_score`, and sorted by `sort`.',
    ...lists,
    'listMovers',
  ),
  unreleased(
    'Every metropolitan area and division, with or without an index. The 404 of a divided metro names its divisions.',
    'listAreas',
    'getArea',
  ),
  unreleased(
    'The interval, probability, target, run and basis of the newest forecast of each market.',
    'listMarkets',
    'getMarket',
    'listForecasts',
  ),
  unreleased('Forecast histories and tracks of all metros, or of the metros in `cbsa`, in one request.', ...allTracks),
  unreleased(
    '`basis` and `vintage` of runs, forecast histories and tracks; `computed_at` and `data_through` of runs.',
    'listForecastRuns',
    ...tracks,
  ),
  unreleased(
    'The backtest broken down by year, quarter, grade, signal, state, size, probability or basis.',
    'getForecastBacktestBreakdown',
  ),
  unreleased('The backtest has `base_rate_up`, `declines` and `declines_called`.', 'getForecastBacktest'),
  unreleased(
    '`since` and `until` on histories, tracks and observations.',
    'getMarketHistory',
    ...tracks,
    'listObservations',
  ),
  unreleased('`as_of` on every data endpoint.'),
  { version: '1.0.0', summary: 'The first version.' },
];

export const metroService: Partial<ServiceInfo> = {
  name: 'metro-forecast',
  title: 'Metro Forecast API',
  version: '1.0.0',
  summary: 'House-price forecasts, signals, risk grades and index history for US metros.',
  description: `Read-only access to per-metro house-price forecasts, signals, risk grades and index history, with raw
macro series and a status page.

**Units.** Returns, changes and interval bounds are in percent. Names of differences between percentages end in \`_pp\`. Rates
are fractions from 0 to 1. Dates are \`YYYY-MM-DD\`, and timestamps are RFC 3339 in UTC.`,
  conventions: `**Lists** have the form \`{"data": [...]}\`. A nullable key is always present, unless \`fields\` omits it. Every response comes from one published snapshot,
named by its \`Snapshot-Version\` header.

**CSV.** Lists are also available as CSV (RFC 4180), with \`format=csv\` or \`Accept: text/csv\`. Columns are the properties of the
rows. Null is an empty field, and an array is one field of JSON. Read \`cbsa\` as text, because codes have leading zeros. Text that
a spreadsheet would run as a formula is prefixed with an apostrophe.

**Vintages.** History, observations, forecasts and signals can be requested \`as_of\` a date. The response comes from the
snapshot that was current at the end of that day in UTC, if the store still has it.

${methods}

${limits}

${caching}`,
  changes,
  license: { name: 'MIT', identifier: 'MIT' },
  instructions: `Returns, changes and interval bounds are in percent. Names ending in _pp are differences between percentages. Rates are
fractions from 0 to 1. Null means unknown. Look up codes in a list before you request a single item.`,
  keyPrefix: 'mfk_',
};
