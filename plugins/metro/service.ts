/** Who the Metro Forecast API is. */
import { conventions, type InterfaceChange, type ServiceInfo } from 'metro-forecast-api/plugin';

const { methods, limits, caching } = conventions;

const lists = ['listMarkets', 'listForecasts', 'listSignals'];

/** Newest first; the reference shows them, and CHANGELOG.md leaves them to it. */
const changes: readonly InterfaceChange[] = [
  {
    version: 'Unreleased',
    summary:
      'Lists come in pages by `limit` and `after`, with the next one in the header `Link`, and with `fields` of choice.',
    operations: [...lists, 'listMovers'],
  },
  {
    version: 'Unreleased',
    summary:
      'Several `series_id` and `cbsa` in one call, and `units` of level, change, logarithm, year over year or real.',
    operations: ['listObservations'],
  },
  {
    version: 'Unreleased',
    summary: "FHFA's `standard_error` of the index, where `fields` asks for it.",
    operations: ['getMarketHistory'],
  },
  {
    version: 'Unreleased',
    summary: 'Lists as NDJSON, a row a line: `format=ndjson` or `Accept: application/x-ndjson`.',
  },
  {
    version: 'Unreleased',
    summary: 'Lists as Apache Parquet, with types: `format=parquet` or `Accept: application/vnd.apache.parquet`.',
    operations: [
      'listObservations',
      'getForecastHistory',
      'getForecastTrack',
      'listForecastHistories',
      'listForecastTracks',
    ],
  },
  {
    version: 'Unreleased',
    summary: 'What was published when, with what changed each time.',
    operations: ['listVintages'],
  },
  {
    version: 'Unreleased',
    summary: 'Whether a replica may get requests: it has a dataset and does not shut down.',
    operations: ['getReady'],
  },
  {
    version: 'Unreleased',
    summary: 'Lists of markets can be narrowed by `state`, `signal` and `risk_score`, and sorted by `sort`.',
    operations: [...lists, 'listMovers'],
  },
  {
    version: 'Unreleased',
    summary:
      'Every metropolitan area and division, with and without an index; the 404 of a divided metro names its parts.',
    operations: ['listAreas', 'getArea'],
  },
  {
    version: 'Unreleased',
    summary: 'Forecast histories and tracks of all metros in one call.',
    operations: ['listForecastHistories', 'listForecastTracks'],
  },
  {
    version: 'Unreleased',
    summary: 'Runs, forecast histories and tracks say their `basis` and `vintage`: a record or a reconstruction.',
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
    summary: 'The backtest broken down by year, quarter, grade, signal, state or size.',
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
  { version: 'Unreleased', summary: '`as_of` on every endpoint of data, where it was on those of histories alone.' },
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
  conventions: `**Lists** are \`{"data": [...]}\`. A nullable key is always present. Every response comes from one published snapshot,
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
fractions from 0 to 1. Nulls are values that are not known. Look codes up in a list before asking for a single item.`,
  keyPrefix: 'mfk_',
};
