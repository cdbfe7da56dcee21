/** The units of observations, such as changes in percent, computed from levels. */
import { type Cadence, nextPeriod } from 'metro-forecast-api/plugin';
import { monthsIn } from '../periods.js';

export const UNITS = ['level', 'change', 'log', 'yoy', 'real'] as const;
export type Units = (typeof UNITS)[number];

/** The consumer price index that `real` divides by: 1982-84 = 100. */
export const DEFLATOR = 'CPIAUCSL';

const SCALE = 1e8;

/**
 * Rounds to 8 decimals, as `toFixed` does. Multiplying is ten times as fast, but exact only for values that are not too
 * large, and not halfway between two results.
 */
const rounded = (value: number): number => {
  const scaled = value * SCALE;
  const nearest = Math.round(scaled);
  const isExact = Math.abs(value) < 1e6 && Math.abs(scaled - nearest) < 0.4;
  return isExact ? nearest / SCALE : Number(value.toFixed(8));
};

/** The mean of the price indexes that are published for the months of a period. */
const priceIn = (prices: ReadonlyMap<string, number>, start: string, cadence: Cadence): number | undefined => {
  const published: number[] = [];
  let month = `${start.slice(0, 7)}-01`;
  for (let count = 0; count < (monthsIn(cadence) ?? 1); count++) {
    const price = prices.get(month);
    if (price !== undefined) published.push(price);
    month = nextPeriod(month, 'monthly');
  }
  return published.length === 0 ? undefined : published.reduce((sum, price) => sum + price, 0) / published.length;
};

/** The same day of the previous year. 29 February has none. */
const yearBefore = (day: string): string => `${String(Number(day.slice(0, 4)) - 1).padStart(4, '0')}${day.slice(4)}`;

/**
 * From the levels of one series, oldest first, to values of these units; undefined where one cannot be computed.
 * @param prices of `DEFLATOR` by month, for `real`
 */
export const unitsOf = (
  units: Units,
  cadence: Cadence,
  prices: ReadonlyMap<string, number> = new Map(),
): ((period: string, level: number) => number | undefined) => {
  const levels = new Map<string, number>();
  let before: { readonly period: string; readonly level: number } | undefined;
  return (period, level) => {
    const previous = before;
    before = { period, level };
    if (units === 'level') return level;
    if (units === 'log') return level > 0 ? rounded(Math.log(level)) : undefined;
    if (units === 'real') {
      const price = priceIn(prices, period, cadence);
      return price === undefined ? undefined : rounded((level / price) * 100);
    }
    if (units === 'yoy') {
      const then = levels.get(yearBefore(period));
      levels.set(period, level);
      return then === undefined || then === 0 ? undefined : rounded((level / then - 1) * 100);
    }
    // Trading days have no fixed distance, so the previous observation is the previous period.
    const isNext = previous && (cadence === 'daily' || nextPeriod(previous.period, cadence) === period);
    return isNext ? rounded(level - previous.level) : undefined;
  };
};
