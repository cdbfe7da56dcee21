/** Reads FRED's download format, as in `fredgraph.csv?id=UNRATE`. */
import { basename } from 'node:path';
import { type Cadence, periods } from 'metro-forecast-api/plugin';
import { inferCadence, isDay } from '../periods.js';
import type { Row } from './csv.js';
import { fredEntryOf } from './fred-catalog.js';
import type { ImportErrors } from './import-errors.js';

export interface MacroSeries {
  readonly id: string;
  readonly cadence: Cadence;
  readonly days: readonly string[];
  readonly values: readonly number[];
}

export const FRED_ID = /^[A-Z0-9][A-Z0-9_.-]*$/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const MIN_DATES = 4;
const isNumber = (text: string): boolean => NUMBER.test(text) && Number.isFinite(Number(text));
const isMissing = (value: string) => value === '' || value === '.';

/**
 * Returns the series id in a path or URL: `UNRATE` for `downloads/unrate.csv` and for
 * `https://host/UNRATE.csv?download`.
 */
const idFromName = (file: string): string => {
  const path = /^https?:/i.test(file) ? new URL(file).pathname : file;
  return basename(path)
    .replace(/\.[^.]*$/, '')
    .toUpperCase();
};

const ruleBroken = ([day = '', ...texts]: readonly string[], ids: readonly string[]): string | undefined => {
  if (texts.length !== ids.length)
    return `must have ${ids.length + 1} cells (date, value), but has ${texts.length + 1}`;
  if (!isDay(day)) return `the date must be a valid day like 2025-10-01, but is "${day}"`;
  const cadence = ids
    .map((id) => fredEntryOf(id)?.cadence)
    .find((each) => each && periods.monthsIn(each) !== undefined);
  if (cadence && !day.endsWith('-01'))
    return `the date of a ${cadence} value must be the first day of its period, but is "${day}"`;
  const bad = texts.find((text) => !isMissing(text) && !isNumber(text));
  return bad === undefined ? undefined : `the value must be a number, "." or empty, but is "${bad}"`;
};

/**
 * Infers the cadence from the dates, because FRED can aggregate a series to longer periods. If there are fewer than 4
 * dates or the dates are irregular, uses the cadence in the catalogue.
 */
const cadenceOf = (id: string, days: readonly string[]): Cadence => {
  const inferred = inferCadence(days);
  const known = fredEntryOf(id)?.cadence;
  return known !== undefined && (days.length < MIN_DATES || inferred === 'irregular') ? known : inferred;
};

/**
 * Reads a CSV file from FRED. The first column contains dates, and each other column contains the values of one series.
 * The name of each value column is a series id. For a column named `value`, the file name is the series id. Missing
 * values are empty or `.`. Rows can be in any order. Invalid rows are reported to `errors` and omitted.
 */
export const readFred = async (
  rows: AsyncIterable<readonly Row[]>,
  file: string,
  errors: ImportErrors,
): Promise<MacroSeries[]> => {
  let ids: string[] | undefined;
  const seen = new Set<string>();
  const columns: Map<string, number>[] = [];
  const take = ({ cells }: Row, names: readonly string[]): string | undefined => {
    const [day = '', ...texts] = cells;
    const rule = ruleBroken(cells, names);
    if (rule !== undefined) return rule;
    if (seen.has(day)) return `there is more than one row for ${day}`;
    seen.add(day);
    for (const [i, text] of texts.entries()) if (!isMissing(text)) columns[i]?.set(day, Number(text));
    return undefined;
  };
  for await (const batch of rows) {
    for (const row of batch) {
      if (ids !== undefined) {
        const rule = take(row, ids);
        if (rule !== undefined) errors.addRow(file, row.line, rule);
      } else {
        ids = row.cells.slice(1).map((cell) => (/^value$/i.test(cell) ? idFromName(file) : cell.toUpperCase()));
        columns.push(...ids.map(() => new Map<string, number>()));
      }
    }
  }
  const unnamed = ids?.find((id) => !FRED_ID.test(id)) ?? (ids ? undefined : '');
  if (ids === undefined || unnamed !== undefined) {
    errors.addFile(file, `the header or the file name must contain the series id, but "${unnamed}" is not a valid id`);
    return [];
  }
  const dates = [...seen].sort();
  const isOnly = ids.length === 1;
  return ids.map((id, i) => {
    const column = columns[i] as Map<string, number>;
    const days = [...column.keys()].sort();
    // Series in the same file can have different cadences, so each cadence is inferred only from the dates on which the
    // series has a value.
    return {
      id,
      cadence: cadenceOf(id, isOnly ? dates : days),
      days,
      values: days.map((day) => column.get(day)!),
    };
  });
};
