/** Reads `hpi_at_metro.csv`, FHFA's all-transactions House Price Index by metro area. */
import type { Cadence } from 'metro-forecast-api/plugin';
import { quarterIndex } from '../periods.js';
import type { Row } from './csv.js';
import type { ImportErrors } from './import-errors.js';

export interface MetroIndex {
  readonly cbsa: string;
  readonly name: string;
  readonly quarters: readonly number[];
  readonly values: readonly number[];
  /** Standard error of each value, or null if it is missing. Undefined if the file has no standard errors. */
  readonly errors?: readonly (number | null)[];
}

export const FHFA_CADENCE: Cadence = 'quarterly';

const MISSING = '-';
const NUMBER = /^\d+(\.\d+)?$/;
const STANDARD_ERROR = /^\(\s*(\d+(?:\.\d+)?)\s*\)$/;

/** Missing values are stored as `NaN`, so that repeated quarters are detected. */
class Area {
  readonly #quarters: number[] = [];
  readonly #values: number[] = [];
  readonly #errors: number[] = [];

  constructor(
    readonly cbsa: string,
    readonly name: string,
    readonly line: number,
  ) {}

  add(quarter: number, value: number, error: number): boolean {
    // FHFA's files are sorted, so a row nearly always belongs at the end.
    let at = this.#quarters.length;
    while (at > 0 && this.#quarters[at - 1]! > quarter) at--;
    if (this.#quarters[at - 1] === quarter) return false;
    this.#quarters.splice(at, 0, quarter);
    this.#values.splice(at, 0, value);
    this.#errors.splice(at, 0, error);
    return true;
  }

  finish(): MetroIndex {
    const there = (_: number, i: number) => !Number.isNaN(this.#values[i]);
    const quarters = this.#quarters.filter(there);
    const errors = this.#errors.filter(there).map((error) => (Number.isNaN(error) ? null : error));
    return { cbsa: this.cbsa, name: this.name, quarters, values: this.#values.filter(there), errors };
  }
}

const rulesBroken = ([name, code, year, quarter, value, error]: readonly string[]): string[] => {
  const rules: string[] = [];
  if (!name || name.includes('\ufffd')) rules.push('the name must be text in UTF-8');
  if (!/^\d{5}$/.test(code as string)) rules.push(`the code must be 5 digits, but is "${code}"`);
  if (!/^(19|20)\d\d$/.test(year as string)) rules.push(`the year must be 1900 to 2099, but is "${year}"`);
  if (!/^[1-4]$/.test(quarter as string)) rules.push(`the quarter must be 1 to 4, but is "${quarter}"`);
  const level = NUMBER.test(value as string) ? Number(value) : 0;
  if (value !== MISSING && !(level > 0 && Number.isFinite(level)))
    rules.push(`the index must be a number above 0 or "-", but is "${value}"`);
  if (error !== MISSING && !STANDARD_ERROR.test(error as string))
    rules.push(`the standard error must be like "( 2.62)" or "-", but is "${error}"`);
  return rules;
};

/**
 * Reads rows with the columns name, 5-digit code, year, quarter, index and standard error. There is no header, and rows
 * can be in any order. A missing index or standard error is `-`. In names from older vintages, two spaces before
 * `(MSAD)` are replaced by one. Invalid rows are reported to `errors` and dropped.
 * @returns the areas, including areas without values, sorted by code
 */
export const readFhfaMetro = async (
  rows: AsyncIterable<readonly Row[]>,
  file: string,
  errors: ImportErrors,
): Promise<MetroIndex[]> => {
  const areas = new Map<string, Area>();

  const take = ({ line, cells }: Row): string[] => {
    if (cells.length !== 6)
      return [`must have 6 cells (name, code, year, quarter, index, error), but has ${cells.length}`];
    const broken = rulesBroken(cells);
    if (broken.length > 0) return broken;
    const [text, code, year, quarter, value, error] = cells as [string, string, string, string, string, string];
    const name = text.replace(/\s+/g, ' ');
    const area = areas.get(code) ?? new Area(code, name, line);
    if (area.name !== name) return [`${code} is "${name}" here and "${area.name}" on line ${area.line}`];
    areas.set(code, area);
    const level = value === MISSING ? Number.NaN : Number(value);
    const added = area.add(quarterIndex(Number(year), Number(quarter)), level, Number(STANDARD_ERROR.exec(error)?.[1]));
    return added ? [] : [`${code} has more than one row for ${year} Q${quarter}`];
  };

  for await (const batch of rows) {
    for (const row of batch) {
      const rules = take(row);
      if (rules.length > 0) errors.addRow(file, row.line, rules.join('; '));
    }
  }
  return [...areas.values()].map((area) => area.finish()).sort((a, b) => (a.cbsa < b.cbsa ? -1 : 1));
};
