import { type Cadence, periods } from 'metro-forecast-api/plugin';
import type { Series } from '../collections.js';
import { addDays, isNextPeriod } from '../periods.js';

export const UNITS = ['level', 'change', 'log', 'yoy', 'real'] as const;
export type Units = (typeof UNITS)[number];

export const DEFLATOR = 'CPIAUCSL';

export interface Prices {
  readonly months: ReadonlyMap<string, number>;
  readonly base: string;
}

export type Described = Pick<Series, 'series_id' | 'kind' | 'title' | 'units' | 'cadence'>;

const ADJUSTED = /\breal\b(?! estate)|\bchained\b|\bconstant\b|\binflation\b/i;
const MONEY = /dollar|\busd\b|\$/i;
/** Matches percentages, exchange rates ("to one"), and units that are adjusted for inflation ("2017 dollars"). */
const NOT_MONEY = /\b\d{4}|adjusted|\bto one\b|percent/i;
const PRICE_INDEX =
  /\b(prices?|costs?|rents?|wages?|earnings|compensation|stocks?)\b|S&P|Nasdaq|Dow Jones|Wilshire|Case-Shiller/i;

/** Prices and price indexes are nominal unless they are adjusted for inflation. */
const isNominal = ({ kind, title, units }: Described): boolean => {
  if (kind === 'metro') return true;
  if (ADJUSTED.test(`${title} ${units}`)) return false;
  return (MONEY.test(units) && !NOT_MONEY.test(units)) || (/\bindex\b/i.test(units) && PRICE_INDEX.test(title));
};

export const unsupported = (units: Units, one: Described): string | undefined => {
  if (units === 'yoy' && one.cadence === 'five-year')
    return `does not apply to ${one.series_id}, which has one value every five years`;
  if (units === 'real' && !isNominal(one))
    return `applies only to amounts of money and price indexes, but ${one.series_id} is in "${one.units}"`;
  return undefined;
};

const SCALE = 1e8;

/**
 * Rounds to 8 decimals, with the same result as `toFixed`. The fast path is ten times faster, but does not support
 * values above one million, or near the midpoint between two results.
 */
const rounded = (value: number): number => {
  const scaled = value * SCALE;
  const nearest = Math.round(scaled);
  const isExact = Math.abs(value) < 1e6 && Math.abs(scaled - nearest) < 0.4;
  return isExact ? nearest / SCALE : Number(value.toFixed(8));
};

/**
 * Returns the mean price index over a period, or undefined if a month is missing. A period shorter than a month uses
 * the month of its date. A five-year period uses its first year.
 */
const priceIn = ({ months }: Prices, start: string, cadence: Cadence): number | undefined => {
  const count = Math.min(periods.monthsIn(cadence) ?? 1, 12);
  let sum = 0;
  let month = `${start.slice(0, 7)}-01`;
  for (let done = 0; done < count; done++) {
    const price = months.get(month);
    if (price === undefined) return undefined;
    sum += price;
    month = periods.nextPeriod(month, 'monthly');
  }
  return sum / count;
};

const yearBefore = (day: string): string =>
  `${String(Number(day.slice(0, 4)) - 1).padStart(4, '0')}${day.slice(4).replace('02-29', '02-28')}`;

/**
 * Returns the range of dates in which to look for the observation from one year earlier. If the range contains several
 * observations, the last one is used.
 */
const yearEarlier = (period: string, cadence: Cadence): { since: string; until: string } => {
  // Holidays can shift a weekly observation by up to three days.
  if (cadence === 'weekly' || cadence === 'biweekly')
    return { since: addDays(period, -52 * 7 - 3), until: addDays(period, -52 * 7 + 3) };
  const until = yearBefore(period);
  if (cadence === 'irregular') return { since: '', until };
  // Financial markets never close for more than a week, so a longer gap means that the series was interrupted.
  return { since: cadence === 'daily' ? addDays(until, -7) : until, until };
};

const levelsYearEarlier = (cadence: Cadence) => {
  const known: { readonly period: string; readonly level: number }[] = [];
  let at = -1;
  return (period: string, level: number): number | undefined => {
    known.push({ period, level });
    const { since, until } = yearEarlier(period, cadence);
    while (at + 1 < known.length && (known[at + 1] as { period: string }).period <= until) at++;
    const found = known[at];
    return found && found.period >= since ? found.level : undefined;
  };
};

/**
 * The returned function must be called with periods in ascending order. It returns undefined for values that cannot be
 * computed.
 * @param prices required for `real`
 */
export const unitsOf = (
  units: Units,
  cadence: Cadence,
  prices?: Prices,
): ((period: string, level: number) => number | undefined) => {
  if (units === 'level') return (_, level) => level;
  if (units === 'log') return (_, level) => (level > 0 ? rounded(Math.log(level)) : undefined);
  if (units === 'yoy') {
    const earlier = levelsYearEarlier(cadence);
    return (period, level) => {
      const then = earlier(period, level);
      return then === undefined || then === 0 ? undefined : rounded((level / then - 1) * 100);
    };
  }
  if (units === 'real') {
    const now = prices?.months.get(prices.base);
    return (period, level) => {
      const then = prices && priceIn(prices, period, cadence);
      return then === undefined || now === undefined ? undefined : rounded((level / then) * now);
    };
  }
  let before: { readonly period: string; readonly level: number } | undefined;
  return (period, level) => {
    const previous = before;
    before = { period, level };
    return previous && isNextPeriod(previous.period, period, cadence) ? rounded(level - previous.level) : undefined;
  };
};
