import { number } from '../shared/format.js';
import { timeOf, valueTicks } from './axes.js';
import { FONT_SIZE, LINE_HEIGHT, textWidth, wrap } from './svg.js';

/** @import { ChartOptions } from './drawing.js' */

export const BAR_WIDTH = 60;
export const BAR_SHARE = 0.8;
/** Minimum width in pixels for labels at the ends of the lines. */
const NAMED_FROM_WIDTH = 640;

/** @param {ChartOptions} options */
const shownOf = ({ dates, lines, band, from, zero = false }) => {
  const found = from === undefined ? 0 : dates.findIndex((date) => date >= from);
  const first = Math.max(0, found);
  return {
    first,
    dates: dates.slice(first),
    columns: lines.map(({ values }) => values.slice(first)),
    bounds: band ? [band.lower.slice(first), band.upper.slice(first)] : [],
    hasBars: lines.some(({ bars }) => bars),
    hasZero: zero || lines.some(({ bars }) => bars),
  };
};

/** @param {ReturnType<typeof shownOf>} shown */
const rangeOf = ({ columns, bounds, hasZero }) => {
  const known = [...columns, ...bounds].flat().filter((value) => value !== null);
  let low = known.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  let high = known.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  if (known.length === 0) [low, high] = [0, 1];
  if (hasZero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const margin = high === low ? Math.abs(high) * 0.05 || 1 : (high - low) * 0.06;
  return { low: hasZero && low === 0 ? 0 : low - margin, high: hasZero && high === 0 ? 0 : high + margin };
};

/** @param {readonly number[]} times @param {number} width */
const slotOf = (times, width) => {
  const [first = 0, last = first] = [times[0], times.at(-1)];
  const step = Math.min(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));
  return last > first ? (width * step) / (last - first + step) : Math.min(width, BAR_WIDTH / BAR_SHARE);
};

/** @param {readonly string[]} dates @param {{ left: number, right: number }} plot @param {boolean} hasBars */
const dateScale = (dates, { left, right }, hasBars) => {
  const [start = '1970-01-01', end = start] = [dates[0], dates.at(-1)];
  const [startTime, endTime] = [timeOf(start), timeOf(end)];
  const width = right - left;
  const slot = hasBars ? slotOf(dates.map(timeOf), width) : 0;
  const x = (/** @type {string} */ date) =>
    endTime === startTime
      ? left + width / 2
      : left + slot / 2 + ((timeOf(date) - startTime) / (endTime - startTime)) * (width - slot);
  return { start, end, slot, x };
};

/** @param {ChartOptions} options @param {{ width: number, height: number }} size */
export const frameOf = (options, { width, height }) => {
  const { lines, unit } = options;
  const shown = shownOf(options);
  const { low, high } = rangeOf(shown);
  const unitLines = wrap(unit, width - 4);
  const top = unitLines.length * LINE_HEIGHT + 17;
  const bottom = height - 24;
  const { ticks, digits } = valueTicks(low, high, bottom - top);
  const tickTexts = ticks.map((tick) => number(tick, digits));
  const isNamed = width >= NAMED_FROM_WIDTH && lines.length > 1 && lines.some(({ short }) => short !== undefined);
  const nameWidth = isNamed ? Math.max(...lines.map(({ short }) => textWidth(short ?? '', FONT_SIZE, 600))) + 14 : 0;
  const plot = {
    left: Math.ceil(Math.max(...tickTexts.map((text) => textWidth(text)))) + 10,
    right: width - Math.max(nameWidth, 18),
    top,
    bottom,
  };
  return {
    ...shown,
    ...dateScale(shown.dates, plot, shown.hasBars),
    y: (/** @type {number} */ value) => plot.bottom - ((value - low) / (high - low)) * (plot.bottom - plot.top),
    width,
    height,
    low,
    plot,
    unitLines,
    ticks,
    tickTexts,
    isNamed,
  };
};
