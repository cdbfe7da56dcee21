import { bar } from '../../../../../core/pages/data-views/bars.js';
import { numbers } from '../../../../../core/pages/data-views/table.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { number } from '../../../../../core/pages/shared/format.js';

/** @import { BacktestGroup as Group } from '../../../client/api-types.js' */

/** @param {Group} group */
export const bestError = ({ benchmark_mae_pp, ar1_nation_mae_pp, shrunk_mean_mae_pp }) =>
  Math.min(benchmark_mae_pp, ar1_nation_mae_pp, shrunk_mean_mae_pp);

/** @param {readonly Group[]} groups */
export const declinesCalled = (groups) => {
  const sum = (/** @type {'declines' | 'declines_called' | 'decline_calls'} */ key) =>
    groups.reduce((total, row) => total + row[key], 0);
  const called = sum('declines_called');
  const falseAlarms = number(sum('decline_calls') - called, 0);
  return { called: `${number(called, 0)} of ${number(sum('declines'), 0)}`, falseAlarms };
};

/** @param {readonly Group[]} grades */
const excessOf = (grades) =>
  grades.reduce(
    (sum, row) => sum + row.n * ((row.predicted_decline_share ?? row.decline_share) - row.decline_share),
    0,
  );

/**
 * Warns if the probabilities of a decline were too low in the first period and too high in the second. These errors
 * cancel out in figures for all years.
 * @param {readonly Group[]} before targets through 2013
 * @param {readonly Group[]} since targets from 2014
 */
export const periodsText = (before, since) =>
  excessOf(before) < 0 && excessOf(since) > 0
    ? 'All years together look better than each period: the probabilities were too low up to 2013 and have been too high since.'
    : '';

/** @param {string} by */
export const breakdownTarget = (by) => `/forecast-backtest/breakdown?by=${by}`;

/** @param {number} value */
export const size = (value) => `${number(value)} pp`;

/** The sentence is hidden in narrow windows, because they do not show the bars. */
export const markNote = () => h('span', { class: 'wide' }, 'A mark on each bar shows the error of the benchmark. ');

/** @param {readonly Group[]} groups */
export const errorColumns = (groups) => {
  const most = Math.max(...groups.map((row) => Math.max(row.mae_pp, bestError(row))));
  return /** @type {import('../../../../../core/pages/data-views/table.js').Column<Group>[]} */ ([
    {
      ...numbers('Error', (row) => row.mae_pp, size),
      cell: (row) => [size(row.mae_pp), h('small', { class: 'muted narrow' }, `benchmark: ${size(bestError(row))}`)],
    },
    {
      label: 'Compared with the best benchmark',
      cell: (row) => bar(row.mae_pp, { most, color: 'line-1', mark: bestError(row) }),
      name: 'wide',
    },
  ]);
};
