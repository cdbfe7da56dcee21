import { percent, points, quarter } from '../../../../pages/shared/format.js';

/** @typedef {import('../../../../pages/data-views/drawing.js').ChartOptions} ChartOptions */

export const QUESTION = 'How do markets and series compare over time?';

/** @param {ChartOptions} options */
const endsOf = ({ lines, dates, from = '' }) =>
  lines.flatMap(({ label, short = label, values }) => {
    const known = values.flatMap((value, at) =>
      value === null || `${dates[at]}` < from ? [] : [{ value, date: `${dates[at]}` }],
    );
    const [first, last] = [known[0], known.at(-1)];
    return first && last ? [{ short, first, last }] : [];
  });

/** @param {ChartOptions} options @param {import('./members.js').Show} show @param {boolean} isReal */
export const findingOf = (options, show, isReal) => {
  const text = (/** @type {number} */ value) => (show === 'nation' ? points : percent)(value, 1);
  const ends = endsOf(options)
    .map((end) => ({
      ...end,
      value: show === 'rebased' ? (end.last.value / end.first.value - 1) * 100 : end.last.value,
    }))
    .toSorted((a, b) => b.value - a.value);
  const [best, worst] = [ends[0], ends.at(-1)];
  if (!best || !worst) return 'Compare markets and series';
  const when = show === 'rebased' ? `Since ${quarter(best.first.date)}` : `In the year to ${quarter(best.last.date)}`;
  const than = show === 'nation' ? ' relative to the nation' : isReal ? ' in real terms' : '';
  if (best === worst) return `${when}, ${best.short} changed by ${text(best.value)}${than}`;
  return `${when}, ${best.short} rose most (${text(best.value)}) and ${worst.short} least (${text(worst.value)})${than}`;
};
