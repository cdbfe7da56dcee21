import { percent, points, quarter } from '../../../../pages/shared/format.js';

/** @import { ChartOptions } from '../../../../pages/data-views/drawing.js' */

export const QUESTION = 'How do markets and series compare over time?';

/** @param {ChartOptions} options */
const endsOf = ({ lines, dates, from = '' }) =>
  lines.flatMap(({ label, short = label, values }) => {
    const known = values.flatMap((value, at) =>
      value === null || `${dates[at]}` < from ? [] : [{ value, date: `${dates[at]}` }],
    );
    const [first, last] = [known[0], known.at(-1)];
    return first && last ? [{ label, short, first, last }] : [];
  });

/**
 * @param {ChartOptions} options @param {import('./members.js').Show} show
 * @param {ReadonlySet<string>} realLabels labels of the lines in real terms
 */
export const findingOf = (options, show, realLabels) => {
  const text = (/** @type {{ value: number, label: string }} */ { value, label }) =>
    `${(show === 'nation' ? points : percent)(value, 1)}${realLabels.has(label) ? ' in real terms' : ''}`;
  const ends = endsOf(options)
    .map((end) => ({
      ...end,
      value: show === 'rebased' ? (end.last.value / end.first.value - 1) * 100 : end.last.value,
    }))
    .toSorted((a, b) => b.value - a.value);
  const [best, worst] = [ends[0], ends.at(-1)];
  if (!best || !worst) return 'Compare markets and series';
  const when = show === 'rebased' ? `Since ${quarter(best.first.date)}` : `In the year to ${quarter(best.last.date)}`;
  const than = show === 'nation' ? ' relative to the nation' : '';
  if (best === worst) return `${when}, ${best.short} changed by ${text(best)}${than}`;
  return `${when}, ${best.short} rose most (${text(best)}) and ${worst.short} least (${text(worst)})${than}`;
};
