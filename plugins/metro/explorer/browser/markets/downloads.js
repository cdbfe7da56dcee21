import { csvOf } from '../../../../../core/pages/data-views/csv.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { day } from '../../../../../core/pages/shared/format.js';
import { marketCalls } from '../data-calls.js';
import { plainName } from '../search.js';

/** @import { Row, Run } from './runs.js' */

const HEADINGS = [
  ...['cbsa', 'name', 'forecast_12m_percent', 'lower_80_percent', 'upper_80_percent', 'last_12_months_percent'],
  ...['change_from_run_before_pp', 'grade', 'signal', 'target_period', 'run_at', 'model_version', 'basis'],
];

/** @param {readonly Row[]} rows @param {Run | undefined} run */
const csvOfRows = (rows, run) =>
  csvOf([
    HEADINGS,
    ...rows.map(({ cbsa, name, forecast, lower, upper, last, change, grade, signal }) => [
      ...[cbsa, plainName(name), forecast, lower, upper, last, change, grade, signal],
      ...[run?.target, run?.run_at, run?.model_version, run?.basis],
    ]),
  ]);

/**
 * @param {import('./filters.js').Choices} chosen @param {readonly Run[]} runs @param {() => readonly Row[]} rows
 * @returns {import('../../../../../core/pages/data-views/figure.js').Tools}
 */
export const toolsOf = (chosen, runs, rows) => {
  const run = runs[chosen.run];
  const past = chosen.run < runs.length - 1 ? run?.target : undefined;
  const { targets, remark } = marketCalls(chosen, past);
  return {
    sources: targets.map((target) => ({ label: 'markets', target, file: 'markets' })),
    remark,
    more: h('a', { href: '#/data' }, 'All the data'),
    shown: {
      file: `markets${past ? `-run-${day(run?.run_at ?? null)}` : ''}.csv`,
      text: () => csvOfRows(rows(), run),
    },
  };
};
