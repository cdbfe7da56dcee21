import { chart } from '../../../../../core/pages/data-views/chart.js';
import { linesCsv } from '../../../../../core/pages/data-views/csv.js';
import { chartFigure, linesTable } from '../../../../../core/pages/data-views/figure.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { creditOf } from '../catalog.js';
import { compareCalls } from '../data-calls.js';
import { PRICES } from '../index-data.js';
import { comparisonFile, NO_FINDING, namesOf } from './texts.js';

/** @import { ChartOptions } from '../../../../../core/pages/data-views/drawing.js' */
/** @import { Series } from '../../../client/api-types.js' */
/** @import { Choices, Member } from './members.js' */

/**
 * @typedef {{ members: readonly Member[], title: string, options: ChartOptions, nationSource: string | undefined }}
 *   Comparison `title`: the finding
 */

/** @param {readonly Member[]} members @param {(member: Member) => void} onremove */
export const chipsOf = (members, onremove) =>
  members.map((member) =>
    h(
      'li',
      member.label,
      h(
        'button',
        { type: 'button', class: 'quiet', 'aria-label': `Remove ${member.label}`, onclick: () => onremove(member) },
        '×',
      ),
    ),
  );

/**
 * @param {Choices} chosen
 * @param {{ index: Series | undefined, macros: readonly Series[], nationSource: string | undefined }} series
 */
const seriesShown = ({ m, s, real }, { index, macros, nationSource }) => [
  ...(m.length > 0 && index ? [index] : []),
  ...macros.filter(({ series_id: id }) => s.includes(id) || (real && id === PRICES) || id === nationSource),
];

/**
 * @param {Comparison} comparison @param {Choices} chosen
 * @param {{ index: Series | undefined, macros: readonly Series[] }} series
 * @param {AbortSignal} signal
 */
export const comparisonFigure = ({ members, title, options, nationSource }, chosen, { index, macros }, signal) => {
  if (options.lines.length === 0) {
    const advice =
      members.length === 0
        ? 'Add a market or a series above.'
        : 'The change of a rate is in percentage points, so it cannot be compared with the change of the nation’s index.';
    return h('p', { class: 'notice' }, advice);
  }
  const names = namesOf(members);
  const shown = seriesShown(chosen, { index, macros, nationSource });
  const file = comparisonFile(members, chosen);
  const calls = compareCalls({
    ...chosen,
    nation: nationSource,
    money: members.filter(({ kind, real }) => kind === 's' && real).map(({ id }) => id),
    rates: members.filter((member) => member.rates).map(({ id }) => id),
  });
  return chartFigure({
    title: names,
    note: chosen.s.length > 0 ? 'Monthly and daily series are shown as quarterly means.' : '',
    chart: chart(options, signal),
    publishers: shown.map(({ source }) => source),
    sources: calls.targets.map((target) => ({ label: 'observations', target, file: 'observations' })),
    remark: calls.remark,
    table: linesTable(options, 'Quarter'),
    shown: { file: `${file}.csv`, text: () => linesCsv(options, 'date') },
    picture: {
      title: title === NO_FINDING ? `${chosen.s.length === 0 ? 'House prices: ' : ''}${names}` : title,
      file,
      options: () => options,
      credits: () => [shown.map(creditOf).join('; '), ...(index?.notes ? [index.notes] : []), location.href],
    },
  });
};
