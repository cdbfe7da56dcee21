/**
 * Lists as CSV, by RFC 4180: a header, one record a row, each ended by CRLF, the columns being the properties that
 * the route's schema declares, in its sequence. Absent values and null are empty fields, an empty text is `""`;
 * numbers and booleans are printed as in JSON; objects and arrays are one cell of JSON.
 */
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Route } from '../contracts/plugin.js';
import type { Form } from './form.js';

type Row = Readonly<Record<string, unknown>>;

/**
 * Texts that spreadsheets would run as a formula: OWASP's list of first characters, with their full-width forms.
 * Apostrophes before them count too, so that taking one away again restores every text.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

/** The columns of a data route whose answer is declared as `{data: [...]}` of objects, and nothing beside. */
export const csvColumns = ({ kind, response }: Route): readonly string[] | undefined => {
  if (kind !== 'data') return undefined;
  const list = propertiesOf(response?.schema);
  if (!list || Object.keys(list).join() !== 'data' || list['data']?.['type'] !== 'array') return undefined;
  const columns = Object.keys(propertiesOf(list['data']['items']) ?? {});
  return columns.length > 0 ? columns : undefined;
};

/** Of a schema that allows objects only. */
const propertiesOf = (schema: unknown): Readonly<Record<string, JsonSchema>> | undefined => {
  const { type, properties } = (schema ?? {}) as JsonSchema;
  return type === 'object' ? (properties as Readonly<Record<string, JsonSchema>> | undefined) : undefined;
};

/** @param formulaGuard puts an apostrophe before texts that a spreadsheet would run; numbers are never touched */
export const csvForm = (columns: readonly string[], formulaGuard: boolean): Form => {
  const text = (value: string): string => quote(formulaGuard && FORMULA.test(value) ? `'${value}` : value);
  const cell = (value: unknown): string => {
    if (typeof value === 'string') return text(value);
    // Undefined for what JSON leaves out.
    const json = JSON.stringify(value) as string | undefined;
    if (json === undefined || json === 'null') return '';
    // Dates and their like are texts in JSON.
    return json.startsWith('"') ? text(JSON.parse(json) as string) : quote(json);
  };
  // Many readers skip empty lines: a lone empty cell must not be one.
  const record = (cells: readonly string[]): string => `${cells.join(',') || '""'}\r\n`;
  const header = record(columns.map(text));
  const recordOf = (row: Row): string =>
    record(columns.map((column) => cell(Object.hasOwn(row, column) ? row[column] : undefined)));
  const rows = (batch: readonly object[]): string => batch.reduce((text, row) => text + recordOf(row as Row), '');
  return {
    name: 'csv',
    mediaType: 'text/csv; charset=utf-8; header=present',
    write: (data) => header + rows((data as { readonly data: readonly Row[] }).data),
    list: { before: header, between: '', after: '', rows },
  };
};

const quote = (value: string): string =>
  value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
