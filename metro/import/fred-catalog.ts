/** What FRED says of well-known series: titles, units, adjustment and cadence as on their pages at fred.stlouisfed.org. */
import type { Cadence } from '../../core/contracts/dataset.js';
import type { Series } from '../collections.js';

export interface FredEntry {
  readonly title: string;
  readonly cadence: Cadence;
  readonly units: string;
  readonly seasonal_adjustment: Series['seasonal_adjustment'];
  /** Who compiles it; FRED hands it on. */
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
