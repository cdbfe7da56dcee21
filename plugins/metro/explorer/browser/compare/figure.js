import { chart } from '../../../../pages/data-views/chart.js';
import { linesCsv } from '../../../../pages/data-views/csv.js';
import { chartFigure, linesTable } from '../../../../pages/data-views/figure.js';
import { h } from '../../../../pages/shared/dom.js';
import { creditOf } from '../catalog.js';
import { compareCalls } from '../data-calls.js';
import { PRICES } from '../index-data.js';
import { comparisonFile, namesOf } from './names.js';

/** @import { ChartOptions } from '../../../../pages/data-views/drawing.js' */
/** @import { Series } from '../../../client/api-types.js' */
/** @import { Choices, Member } from './members.js' */

/** @typedef {{ members: readonly Member[], options: ChartOptions, nationSource: string | undefined }} Comparison */

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

/** @param {Choices} chosen @param {Series | undefined} index @param {readonly Series[]} macros */
const creditsOf = ({ m, s, real }, index, macros) => {
  const shown = macros.filter(({ series_id }) => s.includes(series_id) || (real && series_id === PRICES));
  const sources = [...(m.length > 0 && index ? [index] : []), ...shown];
  return [sources.map(creditOf).join('; '), ...(index?.notes ? [index.notes] : []), location.href];
};

/**
 * @param {Comparison} comparison @param {Choices} chosen
 * @param {{ index: Series | undefined, macros: readonly Series[] }} series
 * @param {AbortSignal} signal
 */
export const comparisonFigure = ({ members, options, nationSource }, chosen, { index, macros }, signal) => {
  if (options.lines.length === 0) return h('p', { class: 'notice' }, 'Add a market or a series above.');
  const names = namesOf(members);
  const file = comparisonFile(members, chosen);
  const calls = compareCalls({
    ...chosen,
    nation: nationSource,
    money: members.filter(({ kind, real }) => kind === 's' && real).map(({ id }) => id),
  });
  return chartFigure({
    title: names,
    note: chosen.s.length > 0 ? 'Monthly and daily series are shown as quarterly means.' : '',
    chart: chart(options, signal),
    sources: calls.targets.map((target) => ({ label: 'observations', target, file: 'observations' })),
    remark: calls.remark,
    table: linesTable(options, 'Quarter'),
    shown: { file: `${file}.csv`, text: () => linesCsv(options, 'date') },
    picture: {
      title: `${chosen.s.length === 0 ? 'House prices: ' : ''}${names}`,
      file,
      options: () => options,
      credits: () => creditsOf(chosen, index, macros),
    },
  });
};
