/** What the OpenAPI document says of the product. */
import type { DocumentInfo } from '../core/openapi/document.js';

export const documentInfo: DocumentInfo = {
  title: 'Metro Forecast API',
  version: '1.0.0',
  summary: 'House-price forecasts, signals, risk grades and index history for US metros.',
  description: `Read-only access to per-metro house-price forecasts, signals, risk grades and index history, with raw
macro series and a status page.

**Units.** Returns, changes and interval bounds are in percent; differences of two percentages end in \`_pp\`; rates
are fractions from 0 to 1. Dates are \`YYYY-MM-DD\`, timestamps RFC 3339 in UTC.

**Lists** are \`{"data": [...]}\`. A nullable key is always present. Every response comes from one published snapshot,
named by its \`Snapshot-Version\` header.

**CSV.** Lists are sent as CSV too (RFC 4180), by \`format=csv\` or \`Accept: text/csv\`. Columns are the properties of the
rows. Null is an empty field; an array is one field of JSON. Codes have leading zeros: read \`cbsa\` as text. Texts that
a spreadsheet would run as a formula begin with an apostrophe.

**Vintages.** History, observations, forecasts and signals can be asked \`as_of\` a date: they are answered from the
snapshot that was current when that day ended, in UTC, where the store keeps it.

**Methods.** Every address answers GET, HEAD (as GET, without the body) and OPTIONS (204, with \`Allow\`); any other
method gets 405 \`method_not_allowed\`.

**Limits.** A sliding window of 60 seconds for each key. \`RateLimit\` says what is left.

**Caching.** Every 200 has a strong \`ETag\`: send it back in \`If-None-Match\` and get 304 while nothing has changed.`,
};
