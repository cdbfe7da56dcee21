/** FRED's files contain neither titles nor units, so this catalogue describes well-known series. */
import type { Cadence } from 'metro-forecast-api/plugin';
import { areaOfSeries } from '../areas.js';
import type { Series } from '../collections.js';

interface FredEntry {
  readonly title: string;
  readonly cadence: Cadence;
  readonly units: string;
  readonly seasonal_adjustment: Series['seasonal_adjustment'];
  readonly publisher: string;
  /** Default: United States. */
  readonly geography?: string;
}

const BLS = 'U.S. Bureau of Labor Statistics';
const BEA = 'U.S. Bureau of Economic Analysis';
const FED = 'Board of Governors of the Federal Reserve System';
export const FHFA = 'U.S. Federal Housing Finance Agency';
const CENSUS = 'U.S. Census Bureau and U.S. Department of Housing and Urban Development';

const entry = (
  title: string,
  cadence: Cadence,
  units: string,
  seasonal_adjustment: FredEntry['seasonal_adjustment'],
  publisher: string,
): FredEntry => ({ title, cadence, units, seasonal_adjustment, publisher });

const SPCS = 'S&P Dow Jones Indices LLC';

const CPI = 'Consumer Price Index for All Urban Consumers';
const CASE_SHILLER = 'S&P Cotality Case-Shiller U.S. National Home Price Index';
const HPI = 'All-Transactions House Price Index for';
const yieldOf = (years: number) =>
  `Market Yield on U.S. Treasury Securities at ${years}-Year Constant Maturity, Quoted on an Investment Basis`;

/** The titles, units, seasonal adjustment and cadence are copied from fred.stlouisfed.org. */
const CATALOG: ReadonlyMap<string, FredEntry> = new Map([
  ['CIVPART', entry('Labor Force Participation Rate', 'monthly', 'Percent', 'SA', BLS)],
  ['CPIAUCSL', entry(`${CPI}: All Items in U.S. City Average`, 'monthly', 'Index 1982-1984=100', 'SA', BLS)],
  [
    'CPILFESL',
    entry(`${CPI}: All Items Less Food and Energy in U.S. City Average`, 'monthly', 'Index 1982-1984=100', 'SA', BLS),
  ],
  ['CSUSHPINSA', entry(CASE_SHILLER, 'monthly', 'Index Jan 2000=100', 'NSA', SPCS)],
  ['CSUSHPISA', entry(CASE_SHILLER, 'monthly', 'Index Jan 2000=100', 'SA', SPCS)],
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
  ['MORTGAGE30US', entry('30-Year Fixed Rate Mortgage Average', 'weekly', 'Percent', 'NSA', 'Freddie Mac')],
  ['MSPUS', entry('Median Sales Price of Houses Sold', 'quarterly', 'Dollars', 'NSA', CENSUS)],
  ['PAYEMS', entry('All Employees, Total Nonfarm', 'monthly', 'Thousands of Persons', 'SA', BLS)],
  ['UNRATE', entry('Unemployment Rate', 'monthly', 'Percent', 'SA', BLS)],
  ['USREC', entry('NBER Based Recession Indicators', 'monthly', '+1 or 0', 'NSA', 'Federal Reserve Bank of St. Louis')],
]);

export const fredEntryOf = (id: string): FredEntry | undefined => {
  const area = areaOfSeries(id);
  if (area === undefined) return CATALOG.get(id);
  const title = `${HPI} ${area.kind === 'nation' ? 'the ' : ''}${area.name}`;
  return { ...entry(title, 'quarterly', 'Index 1980:Q1=100', 'NSA', FHFA), geography: area.name };
};
