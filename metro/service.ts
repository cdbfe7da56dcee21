/** Who the Metro Forecast API is. */
import { conventions, type ServiceInfo } from '../core/contracts/service.js';

const { methods, limits, caching } = conventions;

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
  license: { name: 'MIT', identifier: 'MIT' },
  instructions: `Returns, changes and interval bounds are in percent; names that end in _pp are differences of percentages; rates are
fractions from 0 to 1. Nulls are values that are not known. Look codes up in a list before asking for a single item.`,
  keyPrefix: 'mfk_',
};
