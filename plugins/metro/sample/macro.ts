import { type Cadence, periods } from 'metro-forecast-api/plugin';
import type { Series } from '../collections.js';
import type { MacroSeries } from '../import/fred.js';
import { randomFrom } from './random.js';

interface Definition {
  readonly id: string;
  readonly title: string;
  readonly cadence: Cadence;
  readonly units: string;
  readonly seasonal_adjustment: Series['seasonal_adjustment'];
  readonly from: string;
  readonly to: string;
  /** First value of the series. Later values revert to `around`, or grow by the fraction `growth` per period. */
  readonly start: number;
  readonly around?: number;
  readonly growth?: number;
  /**
   * Standard deviation of the shock per period: a fraction if the series has `growth`, and otherwise in the units of
   * the series.
   */
  readonly shock: number;
  readonly decimals: number;
  readonly missing?: readonly string[];
}

const TO = '2026-08-31';
const DAILY = {
  cadence: 'daily',
  units: 'Percent',
  seasonal_adjustment: 'NSA',
  from: '2024-10-01',
  to: TO,
  decimals: 2,
  missing: ['2024-11-28', '2024-12-25', '2025-01-01', '2025-07-04', '2025-11-27', '2025-12-25', '2026-01-01'],
} as const;
const MONTHLY = { cadence: 'monthly', from: '1996-07-01', to: '2026-07-01' } as const;

const DEFINITIONS: readonly Definition[] = [
  { ...DAILY, id: 'DGS10', title: '10-Year Treasury Yield', start: 3.8, around: 4.2, shock: 0.05 },
  { ...DAILY, id: 'T10Y2Y', title: '10-Year Less 2-Year Treasury Yield', start: -0.2, around: 0.2, shock: 0.04 },
  {
    id: 'MORTGAGE30US',
    title: '30-Year Fixed Mortgage Rate',
    cadence: 'weekly',
    units: 'Percent',
    seasonal_adjustment: 'NSA',
    from: '2016-10-06',
    to: TO,
    start: 3.4,
    around: 5.5,
    shock: 0.08,
    decimals: 2,
  },
  {
    id: 'ICSA',
    title: 'Initial Unemployment Claims',
    cadence: 'weekly',
    units: 'Number',
    seasonal_adjustment: 'SA',
    from: '2021-10-02',
    to: TO,
    start: 240_000,
    around: 230_000,
    shock: 6_000,
    decimals: 0,
  },
  {
    id: 'UNRATE',
    title: 'Unemployment Rate',
    ...MONTHLY,
    units: 'Percent',
    seasonal_adjustment: 'SA',
    start: 5.4,
    around: 5,
    shock: 0.15,
    decimals: 1,
    missing: ['2025-10-01'],
  },
  {
    id: 'CPIAUCSL',
    title: 'Consumer Price Index, All Items',
    ...MONTHLY,
    units: 'Index 1982-1984=100',
    seasonal_adjustment: 'SA',
    start: 157,
    growth: 0.0021,
    shock: 0.0012,
    decimals: 3,
    missing: ['2025-10-01'],
  },
  {
    id: 'FEDFUNDS',
    title: 'Federal Funds Rate',
    ...MONTHLY,
    units: 'Percent',
    seasonal_adjustment: 'NSA',
    start: 5.4,
    around: 3,
    shock: 0.12,
    decimals: 2,
  },
  // The series has ended, so the source is stale.
  {
    id: 'HOUST',
    title: 'Housing Starts',
    ...MONTHLY,
    to: '2025-08-01',
    units: 'Thousands of Units',
    seasonal_adjustment: 'SAAR',
    start: 1450,
    around: 1350,
    shock: 50,
    decimals: 0,
  },
  {
    id: 'HSN1F',
    title: 'New One Family Houses Sold',
    ...MONTHLY,
    units: 'Thousands of Units',
    seasonal_adjustment: 'SAAR',
    start: 760,
    around: 700,
    shock: 25,
    decimals: 0,
  },
  {
    id: 'GDPC1',
    title: 'Real Gross Domestic Product',
    cadence: 'quarterly',
    units: 'Billions of Chained 2017 Dollars',
    seasonal_adjustment: 'SAAR',
    from: '1996-07-01',
    to: '2026-04-01',
    start: 11_800,
    growth: 0.006,
    shock: 0.006,
    decimals: 3,
  },
  {
    id: 'MEHOINUSA646N',
    title: 'Median Household Income',
    cadence: 'annual',
    units: 'Current Dollars',
    seasonal_adjustment: 'NSA',
    from: '1996-01-01',
    to: '2025-01-01',
    start: 35_500,
    growth: 0.03,
    shock: 0.012,
    decimals: 0,
  },
];

const isWeekday = (day: string): boolean => new Date(day).getUTCDay() % 6 !== 0;

const firstDays = ({ cadence, from, to }: Definition): string[] => {
  const days: string[] = [];
  for (let day = from; day <= to; day = periods.nextPeriod(day, cadence)) {
    if (cadence !== 'daily' || isWeekday(day)) days.push(day);
  }
  return days;
};

const values = (definition: Definition, count: number): number[] => {
  const random = randomFrom(`macro ${definition.id}`);
  const { start, around, growth = 0, shock, decimals } = definition;
  let level = start;
  return Array.from({ length: count }, () => {
    const rounded = Number(level.toFixed(decimals)) + 0;
    const step = shock * random.normal();
    level += around === undefined ? level * (growth + step) : 0.03 * (around - level) + step;
    return rounded;
  });
};

export interface SampleSeries extends MacroSeries, Pick<Definition, 'title' | 'units' | 'seasonal_adjustment'> {}

export const sampleMacro = (): SampleSeries[] =>
  DEFINITIONS.map((definition) => {
    const days = firstDays(definition);
    const levels = values(definition, days.length);
    const there = days.map((day) => !definition.missing?.includes(day));
    const { id, title, cadence, units, seasonal_adjustment } = definition;
    return {
      id,
      title,
      cadence,
      units,
      seasonal_adjustment,
      days: days.filter((_, i) => there[i]),
      values: levels.filter((_, i) => there[i]),
    };
  });
