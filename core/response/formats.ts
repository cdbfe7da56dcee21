/** Response formats: JSON for all responses, and NDJSON and CSV for lists. */
import { textOf } from '../data/lazy-rows.js';
import { FORMATS, type FormatName } from '../registry/route-defaults.js';
import { nonFinitePath } from '../validation/json.js';
import { valueAt } from '../validation/path.js';

export const JSON_TYPE = FORMATS.json.mediaType;

/** A route returned something that cannot be sent. Clients get a 500, and the log contains the reason. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
}

/**
 * Serializes a response, or a part of it, as JSON.
 * @param at the JSON Pointer of the part, for error messages
 * @throws ResponseError for undefined, and for NaN and infinite numbers, which JSON would replace by null
 */
export const jsonOf = (response: unknown, at = ''): string => {
  const text = JSON.stringify(response);
  if (text === undefined) throw new ResponseError(`it is ${String(response)}, which JSON cannot represent`);
  // JSON.stringify writes NaN and infinite numbers as null, so text without "null" needs no search.
  if (text.includes('null')) {
    const path = nonFinitePath(response);
    if (path) {
      const place = [at, ...path].join('/') || 'its root';
      throw new ResponseError(`it has ${valueAt(response, path)} at ${place}, which JSON cannot represent`);
    }
  }
  return text;
};

export interface Format<Piece extends string | Buffer = string | Buffer> {
  /** The name in the query parameter `format`. */
  readonly name: FormatName;
  /** The value of `Content-Type`. */
  readonly mediaType: string;
  /** Whether the format itself is compressed, so that responses need no `Content-Encoding`. */
  readonly isCompressed?: boolean;
  /** Loads the library of the format, so that startup does not. Awaited before each response is written. */
  load?(): Promise<void>;
  /** Writes a whole response. @param columns the row properties to send; default: all declared ones */
  write(data: unknown, columns?: readonly string[]): Piece;
  /** Writes a list in pieces. */
  list(columns?: readonly string[]): ListWriter<Piece>;
}

/** Writes a list: first `before`, then its batches, none of which is empty, and finally `after`. */
export interface ListWriter<Piece extends string | Buffer> {
  readonly before: Piece;
  /** Writes a batch. It may hold rows back for a later piece. */
  rows(batch: readonly object[]): Piece;
  after(): Piece;
}

/** Derives `write` from `list` for responses of the form `{data: [...]}`. */
const textListFormat = (format: Pick<Format, 'name' | 'mediaType' | 'list'>): Format => ({
  ...format,
  write(answer, columns) {
    const { before, rows, after } = format.list(columns);
    return `${before}${rows((answer as { readonly data: readonly object[] }).data)}${after()}`;
  },
});

type Row = Readonly<Record<string, unknown>>;

/** Returns the row with only these properties, in this order. */
const narrowed = (row: object, columns: readonly string[] | undefined): object => {
  if (!columns) return row;
  const kept: Record<string, unknown> = {};
  for (const name of columns) if (Object.hasOwn(row, name)) kept[name] = (row as Row)[name];
  return kept;
};

const COMMA = 0x2c;
const NEWLINE = 0x0a;

/** Returns the stored text of rows, with a separator after each row. Undefined if the rows are not stored as text. */
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

const jsonRows = textListFormat({
  name: 'json',
  mediaType: JSON_TYPE,
  list(columns) {
    let between = '';
    return {
      before: '{"data":[',
      rows(batch) {
        const before = between;
        between = ',';
        const stored = columns ? undefined : storedText(batch, COMMA);
        if (stored) return Buffer.concat([Buffer.from(before), stored.subarray(0, -1)]);
        return before + jsonOf(columns ? batch.map((row) => narrowed(row, columns)) : batch).slice(1, -1);
      },
      after: () => ']}',
    };
  },
});

export const jsonFormat: Format = {
  name: 'json',
  mediaType: JSON_TYPE,
  write: (answer, columns) => (columns ? jsonRows.write(answer, columns) : jsonOf(answer)),
  list: jsonRows.list,
};

/** Writes lists as JSON with one row per line. */
export const ndjsonFormat: Format = textListFormat({
  name: 'ndjson',
  mediaType: FORMATS.ndjson.mediaType,
  list: (columns) => ({
    before: '',
    rows(batch) {
      const stored = columns ? undefined : storedText(batch, NEWLINE);
      return stored ?? batch.reduce((text: string, row) => `${text}${jsonOf(narrowed(row, columns))}\n`, '');
    },
    after: () => '',
  }),
});

/**
 * Matches text that a spreadsheet would run as a formula: it starts with a character on OWASP's list or its full-width
 * form. Apostrophes before that character match too, so that removing one apostrophe always restores the original.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

/**
 * Writes lists as CSV (RFC 4180): a header and one record per row, each ended by CRLF. Null and absent values become
 * empty fields, and the empty string becomes `""`. Numbers and booleans are written as in JSON. Objects and arrays are
 * written as JSON in a single cell.
 * @param columns properties that the route's schema declares, in order
 * @param formulaGuard puts an apostrophe before texts that a spreadsheet would run; numbers stay unchanged
 */
export const csvFormat = (columns: readonly string[], formulaGuard: boolean): Format => {
  const text = (value: string): string => quote(formulaGuard && FORMULA.test(value) ? `'${value}` : value);
  const cell = (column: string, value: unknown): string => {
    if (typeof value === 'string') return text(value);
    const json = value === undefined ? undefined : jsonOf(value, `/${column}`);
    if (json === undefined || json === 'null') return '';
    // Dates become strings in JSON.
    return json.startsWith('"') ? text(JSON.parse(json) as string) : quote(json);
  };
  // Many readers skip empty lines, so a record that consists of one empty field is written as `""`.
  const record = (cells: readonly string[]): string => `${cells.join(',') || '""'}\r\n`;
  return textListFormat({
    name: 'csv',
    mediaType: FORMATS.csv.mediaType,
    list(chosen = columns) {
      const recordOf = (row: Row): string =>
        record(chosen.map((column) => cell(column, Object.hasOwn(row, column) ? row[column] : undefined)));
      return {
        before: record(chosen.map(text)),
        rows: (batch) => batch.reduce((text: string, row) => text + recordOf(row as Row), ''),
        after: () => '',
      };
    },
  });
};

const quote = (value: string): string =>
  value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
