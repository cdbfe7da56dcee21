/** Formats of responses: JSON, and for lists NDJSON and CSV. */
import { textOf } from '../data/lazy-rows.js';
import { FORMATS, type FormatName } from '../registry/route-defaults.js';
import { nonFinitePath } from '../validation/json.js';
import { valueAt } from '../validation/path.js';

export const JSON_TYPE = FORMATS.json.mediaType;

/** A response of a route that is not allowed. Clients get a 500, and the log contains the reason. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
}

/**
 * JSON text of a response, or of a part of it.
 * @param at JSON Pointer of the part, for errors
 * @throws ResponseError for undefined, and for NaN and infinite numbers, which would become null
 */
export const jsonOf = (response: unknown, at = ''): string => {
  const text = JSON.stringify(response);
  if (text === undefined) throw new ResponseError(`it is ${String(response)}, which JSON does not have`);
  // JSON.stringify writes null for such a number, so a text without null needs no search.
  if (text.includes('null')) {
    const path = nonFinitePath(response);
    if (path) {
      const place = [at, ...path].join('/') || 'its root';
      throw new ResponseError(`it has ${valueAt(response, path)} at ${place}, which JSON does not have`);
    }
  }
  return text;
};

export interface Format<Piece extends string | Buffer = string | Buffer> {
  /** As in the query parameter `format`. */
  readonly name: FormatName;
  /** The value of `Content-Type`. */
  readonly mediaType: string;
  /** Whether the format is compressed, so that responses get no `Content-Encoding`. */
  readonly isCompressed?: boolean;
  /** Writes a whole response. @param columns properties of the rows to send; default: all declared ones */
  write(data: unknown, columns?: readonly string[]): Piece;
  /** Writes a list in pieces. */
  list(columns?: readonly string[]): ListWriter<Piece>;
}

/** Writes one list: `before`, then its batches, none of them empty, then `after`. */
export interface ListWriter<Piece extends string | Buffer> {
  readonly before: Piece;
  /** May hold rows back for a later piece. */
  rows(batch: readonly object[]): Piece;
  after(): Piece;
}

/** Derives `write` from `list`, for responses of the shape `{data: [...]}`. */
const textListFormat = (format: Pick<Format, 'name' | 'mediaType' | 'list'>): Format => ({
  ...format,
  write(answer, columns) {
    const { before, rows, after } = format.list(columns);
    return `${before}${rows((answer as { readonly data: readonly object[] }).data)}${after()}`;
  },
});

type Row = Readonly<Record<string, unknown>>;

/** The row with these properties only, in this order. */
const narrowed = (row: object, columns: readonly string[] | undefined): object => {
  if (!columns) return row;
  const kept: Record<string, unknown> = {};
  for (const name of columns) if (Object.hasOwn(row, name)) kept[name] = (row as Row)[name];
  return kept;
};

const COMMA = 0x2c;
const NEWLINE = 0x0a;

/** The stored text of rows, with a separator after each. Undefined if the rows are not kept as text. */
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

/** Lists as JSON, one row per line. */
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
 * Texts that spreadsheets run as a formula: OWASP's list of first characters, with their full-width forms. Texts with
 * apostrophes before such a character match too, so that removing one apostrophe always restores the original.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

/**
 * Lists as CSV (RFC 4180): a header, and one record per row, ended by CRLF. Absent values and null are empty fields, an
 * empty text is `""`. Numbers and booleans are written as in JSON. Objects and arrays are JSON in one cell.
 * @param columns properties that the route's schema declares, in order
 * @param formulaGuard puts an apostrophe before texts that a spreadsheet would run; numbers stay unchanged
 */
export const csvFormat = (columns: readonly string[], formulaGuard: boolean): Format => {
  const text = (value: string): string => quote(formulaGuard && FORMULA.test(value) ? `'${value}` : value);
  const cell = (column: string, value: unknown): string => {
    if (typeof value === 'string') return text(value);
    const json = value === undefined ? undefined : jsonOf(value, `/${column}`);
    if (json === undefined || json === 'null') return '';
    // Dates are texts in JSON.
    return json.startsWith('"') ? text(JSON.parse(json) as string) : quote(json);
  };
  // Many readers skip empty lines, so a record of one empty field is written as `""`.
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
