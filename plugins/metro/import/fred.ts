/** Reads series in the format in which FRED offers them for download (`fredgraph.csv?id=<SERIES>`). */
import { basename } from 'node:path';
import type { Cadence } from 'metro-forecast-api/plugin';
import { inferCadence, isDay, monthsIn } from '../periods.js';
import type { Row } from './csv.js';
import { fredEntryOf } from './fred-catalog.js';
import type { ImportErrors } from './import-errors.js';

/** One series, with ascending days and a value for each day. Days without a value are left out. */
export interface MacroSeries {
  readonly id: string;
  readonly cadence: Cadence;
  readonly days: readonly string[];
  readonly values: readonly number[];
}

const ID = /^[A-Z0-9][A-Z0-9_.-]*$/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
/** With at least this many dates, their cadence overrides the catalog. */
const ENOUGH = 4;
const isNumber = (text: string): boolean => NUMBER.test(text) && Number.isFinite(Number(text));
const isMissing = (value: string) => value === '' || value === '.';

/**
 * Derives the id from a file name, such as `UNRATE` from `downloads/unrate.csv` or `https://host/UNRATE.csv?download`.
 */
const idFromName = (file: string): string => {
  const path = /^https?:/i.test(file) ? new URL(file).pathname : file;
  return basename(path)
    .replace(/\.[^.]*$/, '')
    .toUpperCase();
};

/** The rule that a row breaks, regardless of other rows. Undefined for a valid row. */
const ruleBroken = ([day = '', ...texts]: readonly string[], ids: readonly string[]): string | undefined => {
  if (texts.length !== ids.length)
    return `must have ${ids.length + 1} cells (date, value), and has ${texts.length + 1}`;
  if (!isDay(day)) return `the date must be a day of the calendar like 2025-10-01, and is "${day}"`;
  const cadence = ids.map((id) => fredEntryOf(id)?.cadence).find((each) => each && monthsIn(each) !== undefined);
  if (cadence && !day.endsWith('-01'))
    return `the date of a ${cadence} value must be the first day of its period, and is "${day}"`;
  const bad = texts.find((text) => !isMissing(text) && !isNumber(text));
  return bad === undefined ? undefined : `the value must be a number, "." or empty, and is "${bad}"`;
};

/** The cadence of the dates, if they are enough to decide. FRED also offers series aggregated to longer periods. */
const cadenceOf = (id: string, days: readonly string[]): Cadence => {
  const inferred = inferCadence(days);
  const known = fredEntryOf(id)?.cadence;
  return known !== undefined && (days.length < ENOUGH || inferred === 'irregular') ? known : inferred;
};

/**
 * Reads the rows of a file. The header is `date,value`, or `observation_date` or `DATE` followed by the ids of one or
 * more series. Missing values are empty or `.`. The id of a column `value` is the name of the file. The cadence is
 * inferred from the dates. The order of rows does not matter. Rows that break a rule are added to the errors and left
 * out.
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
  const unnamed = ids?.find((id) => !ID.test(id)) ?? (ids ? undefined : '');
  if (ids === undefined || unnamed !== undefined) {
    errors.addFile(file, `the header or the file name must name the series, and "${unnamed}" is not a valid name`);
    return [];
  }
  const dates = [...seen].sort();
  const isOnly = ids.length === 1;
  return ids.map((id, i) => {
    const column = columns[i] as Map<string, number>;
    const days = [...column.keys()].sort();
    // Series of other cadences in the same file add dates.
    return {
      id,
      cadence: cadenceOf(id, isOnly ? dates : days),
      days,
      values: days.map((day) => column.get(day) as number),
    };
  });
};
