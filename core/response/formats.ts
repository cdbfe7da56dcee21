import type { Format, Row } from '../contracts/format.js';
import { textOf } from '../data/lazy-rows.js';
import { nonFinitePath } from '../validation/json.js';
import { valueAt } from '../validation/path.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Thrown if the response of a route cannot be sent. The client gets a 500, and the reason is logged. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
}

/**
 * @param at JSON Pointer to the value within the response, for error messages
 * @throws ResponseError for undefined, NaN and infinite numbers, which JSON cannot represent
 */
export const jsonOf = (response: unknown, at = ''): string => {
  const text = JSON.stringify(response);
  if (text === undefined) throw new ResponseError(`it is ${String(response)}, which JSON cannot represent`);
  // JSON.stringify turns NaN and infinite numbers into null. If the text does not contain "null", there were none.
  if (text.includes('null')) {
    const path = nonFinitePath(response);
    if (path) {
      const place = [at, ...path].join('/') || 'its root';
      throw new ResponseError(`it has ${valueAt(response, path)} at ${place}, which JSON cannot represent`);
    }
  }
  return text;
};

const COMMA = 0x2c;
const NEWLINE = 0x0a;

/**
 * Returns the JSON text of rows that are stored as text, each followed by the separator. Returns undefined for other
 * rows.
 */
const storedText = (rows: readonly object[], separator: number): Buffer | undefined => {
  const text = textOf(rows)?.filter(({ ends }) => ends.length > 0);
  if (!text) return undefined;
  const joined = Buffer.allocUnsafe(text.reduce((size, { json }) => size + json.length + 1, 0));
  let start = 0;
  for (const { json, ends } of text) {
    json.copy(joined, start);
    for (const end of ends) joined[start + end] = separator;
    start += json.length + 1;
  }
  return joined;
};

export const jsonFormat: Format = {
  name: 'json',
  mediaTypes: [JSON_TYPE],
  description: 'JSON.',
  async *write(rows) {
    let between = '';
    yield '{"data":[';
    for await (const batch of rows) {
      if (between) yield between;
      between = ',';
      yield storedText(batch, COMMA)?.subarray(0, -1) ?? jsonOf(batch).slice(1, -1);
    }
    yield ']}';
  },
};

export const ndjsonFormat: Format = {
  name: 'ndjson',
  mediaTypes: ['application/x-ndjson; charset=utf-8'],
  description: 'One JSON object per line.',
  async *write(rows) {
    for await (const batch of rows) {
      yield storedText(batch, NEWLINE) ?? batch.reduce((text, row) => `${text}${jsonOf(row)}\n`, '');
    }
  },
};

/**
 * Matches text that a spreadsheet would run as a formula, because it starts with a character on OWASP's list or with
 * the full-width form of one. Apostrophes before that character also match, so that removing one apostrophe always
 * restores the original text.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

/**
 * CSV (RFC 4180): a header and one record per row, each ending with CRLF. Null and missing values become empty fields,
 * and the empty string becomes `""`. Numbers and booleans are written as in JSON. Objects and arrays are written as
 * JSON in a single cell.
 * @param formulaGuard whether to put an apostrophe in front of text that a spreadsheet would run as a formula. Numbers
 * are not changed
 */
export const csvFormat = (formulaGuard: boolean): Format => {
  const text = (value: string): string => quote(formulaGuard && FORMULA.test(value) ? `'${value}` : value);
  const cell = (column: string, value: unknown): string => {
    if (typeof value === 'string') return text(value);
    const json = value === undefined ? undefined : jsonOf(value, `/${column}`);
    if (json === undefined || json === 'null') return '';
    // Dates are strings in JSON, so they are handled like text.
    return json.startsWith('"') ? text(JSON.parse(json) as string) : quote(json);
  };
  // Many CSV readers skip empty lines, so a record that consists of one empty field is written as `""`.
  const record = (cells: readonly string[]): string => `${cells.join(',') || '""'}\r\n`;
  return {
    name: 'csv',
    mediaTypes: ['text/csv; charset=utf-8; header=present'],
    description: 'RFC 4180, with a header line. The columns are the properties of the rows.',
    async *write(rows, columns) {
      const names = columns.map(({ name }) => name);
      const recordOf = (row: Row): string =>
        record(names.map((name) => cell(name, Object.hasOwn(row, name) ? row[name] : undefined)));
      yield record(names.map(text));
      for await (const batch of rows) yield batch.reduce((text, row) => text + recordOf(row), '');
    },
  };
};

const quote = (value: string): string =>
  value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
