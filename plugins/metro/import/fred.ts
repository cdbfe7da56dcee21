/** Reads a series as FRED offers it for download (`fredgraph.csv?id=<SERIES>`). */
import { basename } from 'node:path';
import type { Cadence } from 'metro-forecast-api/plugin';
import type { Series } from '../collections.js';
import { inferCadence, isDay } from '../periods.js';
import type { Row } from './csv.js';
import type { ImportErrors } from './import-errors.js';

/** One series: ascending days, and one value for each. Days without a value are left out. */
export interface MacroSeries {
  readonly id: string;
  readonly cadence: Cadence;
  readonly days: readonly string[];
  readonly values: readonly number[];
}

const ID = /^[A-Z0-9][A-Z0-9_.-]*$/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const isMissing = (value: string) => value === '' || value === '.';

/** `UNRATE` from `downloads/unrate.csv` or `https://host/UNRATE.csv?download`. */
const idFromName = (file: string): string => {
  const path = /^https?:/i.test(file) ? new URL(file).pathname : file;
  return basename(path)
    .replace(/\.[^.]*$/, '')
    .toUpperCase();
};

/** The rule that a row breaks, or its value, which is undefined if it is missing. */
const readRow = ({ cells }: Row, cadence: Cadence | undefined): { rule: string } | { value: number | undefined } => {
  const [day, text] = cells as [string, string];
  if (cells.length !== 2) return { rule: `must have 2 cells (date, value), and has ${cells.length}` };
  if (!isDay(day)) return { rule: `the date must be a day of the calendar like 2025-10-01, and is "${day}"` };
  if (cadence !== undefined && /^(monthly|quarterly|annual)$/.test(cadence) && !day.endsWith('-01'))
    return { rule: `the date of a ${cadence} value must be the first day of its period, and is "${day}"` };
  if (isMissing(text)) return { value: undefined };
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) return { rule: `the value must be a number, "." or empty, and is "${text}"` };
  return { value };
};

/**
 * Reads the rows of a file: a header `date,value`, `observation_date,<SERIES>` or `DATE,<SERIES>`, then dates
 * with values; a missing value is empty or `.`. The id is the column's name, or the file's if that is `value`. The
 * cadence is that of the catalog, or inferred from the dates. The order of rows does not matter. Rows that break a
 * rule are added to the errors and left out.
 *
 * @returns undefined if the whole file is unusable
 */
export const readFred = async (
  rows: AsyncIterable<readonly Row[]>,
  file: string,
  errors: ImportErrors,
): Promise<MacroSeries | undefined> => {
  let id: string | undefined;
  const observations = new Map<string, number | undefined>();
  for await (const batch of rows) {
    for (const row of batch) {
      if (id === undefined) {
        const column = (row.cells[1] ?? '').toUpperCase();
        id = column === 'VALUE' ? idFromName(file) : column;
        continue;
      }
      const read = readRow(row, FRED_CATALOG.get(id)?.cadence);
      const day = row.cells[0] as string;
      if ('rule' in read) errors.addRow(file, row.line, read.rule);
      else if (observations.has(day)) errors.addRow(file, row.line, `there is more than one row for ${day}`);
      else observations.set(day, read.value);
    }
  }
  if (id === undefined || !ID.test(id)) {
    errors.addFile(file, `the series must be named by the second column or the file, and "${id ?? ''}" is no name`);
    return undefined;
  }
  const cadence = FRED_CATALOG.get(id)?.cadence ?? inferCadence([...observations.keys()].sort());
  const days = [...observations.keys()].filter((day) => observations.get(day) !== undefined).sort();
  return { id, cadence, days, values: days.map((day) => observations.get(day) as number) };
};

interface FredEntry {
  readonly title: string;
  readonly cadence: Cadence;
  readonly units: string;
  readonly seasonal_adjustment: Series['seasonal_adjustment'];
  /** The agency that compiles the series. */
  readonly publisher: string;
}

const BLS = 'U.S. Bureau of Labor Statistics';
const BEA = 'U.S. Bureau of Economic Analysis';
const FED = 'Board of Governors of the Federal Reserve System';
const CENSUS = 'U.S. Census Bureau and U.S. Department of Housing and Urban Development';

const entry = (
  title: string,
  cadence: Cadence,
  units: string,
  seasonal_adjustment: FredEntry['seasonal_adjustment'],
  publisher: string,
): FredEntry => ({ title, cadence, units, seasonal_adjustment, publisher });

const CPI = 'Consumer Price Index for All Urban Consumers';
const yieldOf = (years: number) =>
  `Market Yield on U.S. Treasury Securities at ${years}-Year Constant Maturity, Quoted on an Investment Basis`;

/** Well-known series, with titles, units, adjustment and cadence as on their pages at fred.stlouisfed.org. */
export const FRED_CATALOG: ReadonlyMap<string, FredEntry> = new Map([
  ['CIVPART', entry('Labor Force Participation Rate', 'monthly', 'Percent', 'SA', BLS)],
  ['CPIAUCSL', entry(`${CPI}: All Items in U.S. City Average`, 'monthly', 'Index 1982-1984=100', 'SA', BLS)],
  [
    'CPILFESL',
    entry(`${CPI}: All Items Less Food and Energy in U.S. City Average`, 'monthly', 'Index 1982-1984=100', 'SA', BLS),
  ],
  ['DGS10', entry(yieldOf(10), 'daily', 'Percent', 'NSA', FED)],
  ['DGS2', entry(yieldOf(2), 'daily', 'Percent', 'NSA', FED)],
  ['FEDFUNDS', entry('Federal Funds Effective Rate', 'monthly', 'Percent', 'NSA', FED)],
  ['GDP', entry('Gross Domestic Product', 'quarterly', 'Billions of Dollars', 'SAAR', BEA)],
  ['GDPC1', entry('Real Gross Domestic Product', 'quarterly', 'Billions of Chained 2017 Dollars', 'SAAR', BEA)],
  [
    'HOUST',
    entry('New Privately-Owned Housing Units Started: Total Units', 'monthly', 'Thousands of Units', 'SAAR', CENSUS),
  ],
  ['HSN1F', entry('New One Family Houses Sold: United States', 'monthly', 'Thousands', 'SAAR', CENSUS)],
  ['INDPRO', entry('Industrial Production: Total Index', 'monthly', 'Index 2017=100', 'SA', FED)],
  ['M2SL', entry('M2', 'monthly', 'Billions of Dollars', 'SA', FED)],
  ['PAYEMS', entry('All Employees, Total Nonfarm', 'monthly', 'Thousands of Persons', 'SA', BLS)],
  ['UNRATE', entry('Unemployment Rate', 'monthly', 'Percent', 'SA', BLS)],
]);
