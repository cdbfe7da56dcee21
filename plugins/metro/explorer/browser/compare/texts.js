import { fileNameOf } from '../../../../../core/pages/data-views/save.js';
import { moveOf, PAST_MOVES, percent, points, quarter } from '../../../../../core/pages/shared/format.js';

/** @import { ChartOptions } from '../../../../../core/pages/data-views/drawing.js' */
/** @import { Choices, Member } from './members.js' */

/** Title if no two values of the lines can be compared. */
export const NO_FINDING = 'Compare markets and series';

export const QUESTION = 'How do markets and series compare over time?';

/**
 * Returns the values of each line at the first and the last date for which all lines have a value.
 * @param {ChartOptions} options
 */
const endsOf = ({ lines: all, dates, from = '' }) => {
  // Changes in percent and in percentage points cannot be ranked together.
  const inPercent = all.filter(({ text }) => text === undefined);
  const lines = inPercent.length > 0 ? inPercent : all;
  const shown = dates.flatMap((date, at) => (date < from ? [] : [at]));
  const known = lines.filter(({ values }) => shown.some((at) => typeof values[at] === 'number'));
  const common = shown.filter((at) => known.every(({ values }) => typeof values[at] === 'number'));
  const [start, end] = [common[0], common.at(-1)];
  if (start === undefined || end === undefined) return [];
  return known.map(({ label, short = label, values, text }) => {
    const point = (/** @type {number} */ at) => ({ date: `${dates[at]}`, value: Number(values[at]) });
    const isNewest = shown.every((at) => at <= end || typeof values[at] !== 'number');
    return { label, short, first: point(start), last: point(end), isNewest, inPoints: text !== undefined };
  });
};

/** @param {number} most @param {number} least */
const verbsOf = (most, least) => {
  if (most <= 0) return ['fell least', 'most'];
  return ['rose most', least < 0 ? 'fell most' : 'least'];
};

/**
 * @param {ChartOptions} options
 * @param {{ show: import('./members.js').Show, realLabels: ReadonlySet<string>, isPrices: boolean }} shown `isPrices`:
 *   whether all lines are house prices
 */
export const findingOf = (options, { show, realLabels, isPrices }) => {
  const isReal = options.lines.every(({ label }) => realLabels.has(label));
  const text = (/** @type {{ value: number, label: string, inPoints: boolean }} */ { value, label, inPoints }) =>
    `${(show === 'nation' || inPoints ? points : percent)(value, 1)}${!isReal && realLabels.has(label) ? ' in real terms' : ''}`;
  const ends = endsOf(options)
    .map((end) => ({
      ...end,
      value: show === 'rebased' ? (end.last.value / end.first.value - 1) * 100 : end.last.value,
    }))
    .toSorted((a, b) => b.value - a.value);
  const [best, worst] = [ends[0], ends.at(-1)];
  const isCompared = best && worst && (show !== 'rebased' || best.first.date !== best.last.date);
  if (!isCompared) return NO_FINDING;
  const [start, last] = [quarter(best.first.date), quarter(best.last.date)];
  // Values in real terms can end before the newest index, so their sentence names the last quarter.
  const since =
    realLabels.size === 0 && ends.every(({ isNewest }) => isNewest) ? `since ${start}` : `from ${start} to ${last}`;
  const when = show === 'rebased' ? since : `in the year to ${last}`;
  const than = show === 'nation' ? ' relative to the nation' : isReal ? ' in real terms' : '';
  const moved = show === 'nation' || best.inPoints ? `changed by ${text(best)}` : moveOf(best.value, PAST_MOVES);
  const end = `${than} ${when}`;
  if (best === worst) return `${isPrices ? 'House prices in ' : ''}${best.short} ${moved}${end}`;
  if (text(best) === text(worst))
    return `${isPrices ? 'House prices' : 'All'} ${moved}${isPrices ? ' in all' : ''}${end}`;
  const [first, second] = verbsOf(best.value, worst.value);
  return isPrices
    ? `House prices ${first} in ${best.short} (${text(best)}) and ${second} in ${worst.short} (${text(worst)})${end}`
    : `${best.short} ${first} (${text(best)}) and ${worst.short} ${second} (${text(worst)})${end}`;
};

/** @type {{ [show in Choices['show']]: string }} */
const MEASURES = { rebased: 'rebased', change: 'yearly change', nation: 'difference from nation' };

/** @param {readonly Member[]} members */
export const namesOf = (members) => members.map(({ short }) => short).join(', ');

/**
 * Long file names are cut, so the measure comes before the names of the markets.
 * @param {readonly Member[]} members @param {Choices} chosen
 */
export const comparisonFile = (members, { show, real }) =>
  fileNameOf([MEASURES[show], real && show !== 'nation' ? 'real' : '', namesOf(members)].join(' '));
