import { moveOf, PAST_MOVES, percent, points, quarter } from '../../../../pages/shared/format.js';

/** @import { ChartOptions } from '../../../../pages/data-views/drawing.js' */

export const QUESTION = 'How do markets and series compare over time?';

/** @param {ChartOptions} options */
const endsOf = ({ lines, dates, from = '' }) => {
  const known = lines.flatMap(({ label, short = label, values }) => {
    const present = values.flatMap((value, at) =>
      value === null || `${dates[at]}` < from ? [] : [{ value, date: `${dates[at]}` }],
    );
    return present.length === 0 ? [] : [{ label, short, present }];
  });
  const start =
    known
      .map(({ present }) => `${present[0]?.date}`)
      .sort()
      .at(-1) ?? '';
  const end = known.map(({ present }) => `${present.at(-1)?.date}`).sort()[0] ?? '';
  return known.flatMap(({ label, short, present }) => {
    const common = present.filter(({ date }) => date >= start && date <= end);
    const [first, last] = [common[0], common.at(-1)];
    return first && last ? [{ label, short, first, last, isNewest: last === present.at(-1) }] : [];
  });
};

/** @param {number} most @param {number} least */
const verbsOf = (most, least) => {
  if (most <= 0) return ['fell least', 'most'];
  return ['rose most', least < 0 ? 'fell most' : 'least'];
};

/** @param {ChartOptions} options @param {import('./members.js').Show} show @param {ReadonlySet<string>} realLabels */
export const findingOf = (options, show, realLabels) => {
  const isReal = options.lines.every(({ label }) => realLabels.has(label));
  const text = (/** @type {{ value: number, label: string }} */ { value, label }) =>
    `${(show === 'nation' ? points : percent)(value, 1)}${!isReal && realLabels.has(label) ? ' in real terms' : ''}`;
  const ends = endsOf(options)
    .map((end) => ({
      ...end,
      value: show === 'rebased' ? (end.last.value / end.first.value - 1) * 100 : end.last.value,
    }))
    .toSorted((a, b) => b.value - a.value);
  const [best, worst] = [ends[0], ends.at(-1)];
  if (!best || !worst) return 'Compare markets and series';
  const [start, end] = [quarter(best.first.date), quarter(best.last.date)];
  const since = ends.every(({ isNewest }) => isNewest) ? `Since ${start}` : `From ${start} to ${end}`;
  const when = show === 'rebased' ? since : `In the year to ${end}`;
  const than = show === 'nation' ? ' relative to the nation' : isReal ? ' in real terms' : '';
  const moved = show === 'nation' ? `changed by ${text(best)}` : moveOf(best.value, PAST_MOVES);
  if (best === worst) return `${when}, ${best.short} ${moved}${than}`;
  if (text(best) === text(worst)) return `${when}, all ${moved}${than}`;
  const [first, second] = verbsOf(best.value, worst.value);
  return `${when}, ${best.short} ${first} (${text(best)}) and ${worst.short} ${second} (${text(worst)})${than}`;
};
