import { lastYears } from '../../../../../core/pages/data-views/controls.js';
import { number, percent, quarter } from '../../../../../core/pages/shared/format.js';
import { hasRealTerms, indexTarget, nationOf, realOf, stateOf } from '../index-data.js';
import { fanOf, gapsText, quartersBetween, valuesOf, withoutPrices, yearlyChange } from '../market-figures.js';
import { recessions } from '../recessions.js';
import { plainName, shortName, statesOf } from '../search.js';

/** @import { ChartOptions } from '../../../../../core/pages/data-views/drawing.js' */
/** @import { Context } from './context.js' */

/**
 * @typedef {{ show: 'level' | 'change' | 'real', years: number, withOthers: boolean }} Choices
 * @typedef {ReturnType<typeof fanOf>} Fan
 * @typedef {NonNullable<ReturnType<typeof dataOf>>} Data
 */

export const DEFAULT_YEARS = 10;

/** @param {Context} context */
export const dataOf = ({ history, newest }) => {
  const [first, last] = [history[0], history.at(-1)];
  if (!first || !last) return undefined;
  const index = valuesOf(history);
  const fan = fanOf(index, newest);
  const end = fan && fan.target > last.period_start ? fan.target : last.period_start;
  const dates = quartersBetween(first.period_start, end);
  return {
    index,
    fan,
    dates,
    along: (/** @type {ReadonlyMap<string, number>} */ values) => dates.map((date) => values.get(date) ?? null),
  };
};

/** @param {Context} context @param {Data} data @returns {Partial<ChartOptions> & Pick<ChartOptions, 'lines'>} */
const forecastOfChange = ({ newest }, { fan, along }) => {
  if (!newest || !fan) return { lines: [] };
  const { point, lower_80: lower, upper_80: upper } = newest;
  const at = (/** @type {number} */ value) => along(new Map([[fan.target, value]]));
  return {
    lines: [{ label: 'Forecast', values: at(point), color: 'accent' }],
    ...(lower !== null && upper !== null ? { band: { label: '80% band', lower: at(lower), upper: at(upper) } } : {}),
  };
};

/** @param {Context} context @param {Data} data @param {boolean} withOthers */
const changeOptions = async (context, data, withOthers) => {
  const { market, signal } = context;
  const name = plainName(market.name);
  const [state] = statesOf(market.name);
  const others = withOthers
    ? (await Promise.all([nationOf(signal), state ? stateOf(state, signal) : undefined])).filter(
        (one) => one !== undefined,
      )
    : [];
  const forecast = forecastOfChange(context, data);
  return {
    ...forecast,
    label: `Change in house prices in ${name} over four quarters, in percent.`,
    unit: 'Percent, over four quarters',
    lines: [
      { label: name, short: shortName(market.name), values: data.along(yearlyChange(data.index)), color: 'actual' },
      ...others.map(({ label, changes }, at) => ({
        label,
        short: label.replace(/ \(.*/, ''),
        values: data.along(changes),
        color: `line-${at + 2}`,
      })),
      ...forecast.lines,
    ],
    valueText: percent,
  };
};

/**
 * Removes the base period from `units`, as in "Index 1995Q1=100", because the index in real terms is not 100 in that
 * period.
 * @param {string} units @param {string} base @param {readonly string[]} gaps
 */
const realUnit = (units, base, gaps) =>
  `${units.replace(/,?\s*\d.*/, '')}, adjusted for consumer prices (CPIAUCSL), in prices of ${base.slice(0, 7)}; the forecast is in nominal terms and is not shown${gapsText(gaps)}`;

/** @param {Context} context @param {Data} data */
const realOptions = async ({ market, series, signal }, { index, along }) => {
  const { rows, base } =
    series && hasRealTerms(series)
      ? await realOf(indexTarget(series, market.cbsa, 'real'), signal)
      : { rows: [], base: undefined };
  const values = valuesOf(rows);
  return {
    label: `Index of house prices in ${plainName(market.name)}, adjusted for consumer prices.`,
    unit: base
      ? realUnit(series?.units ?? 'Index', base, withoutPrices(index, values))
      : 'No consumer prices (CPIAUCSL) are loaded',
    lines: [{ label: 'Index in real terms', values: along(values), color: 'actual' }],
    valueText: (/** @type {number} */ value) => number(value),
  };
};

/** @param {Context} context @param {Data} data */
const levelOptions = ({ market, series }, { index, fan, along }) => ({
  label: `Index of house prices in ${plainName(market.name)}${fan ? ', with its forecast' : ''}.`,
  unit: [series?.units ?? 'Index', series?.seasonal_adjustment === 'NSA' && 'not seasonally adjusted']
    .filter(Boolean)
    .join(', '),
  lines: [
    { label: 'Index', values: along(index), color: 'actual' },
    ...(fan ? [{ label: 'Forecast', values: along(fan.point), color: 'accent', dashed: true }] : []),
  ],
  ...(fan && fan.lower.size > 0
    ? { band: { label: '80% band', lower: along(fan.lower), upper: along(fan.upper) } }
    : {}),
  valueText: (/** @type {number} */ value) => number(value),
});

/** @param {Context} context @param {Data} data @param {Choices} chosen @returns {Promise<ChartOptions>} */
export const optionsOf = async (context, data, { show, years, withOthers }) => ({
  dates: data.dates,
  dateText: quarter,
  from: lastYears(data.dates, years),
  shades: recessions,
  ...(await (show === 'change'
    ? changeOptions(context, data, withOthers)
    : show === 'real'
      ? realOptions(context, data)
      : levelOptions(context, data))),
});
