import { bar } from '../../../../pages/data-views/bars.js';
import { numbers } from '../../../../pages/data-views/table.js';
import { number } from '../../../../pages/shared/format.js';
import { bestError } from './scores.js';

/** @import { BacktestGroup as Group } from '../../../client/api-types.js' */

/** @param {string} by */
export const breakdownTarget = (by) => `/forecast-backtest/breakdown?by=${by}`;

/** @param {number} value */
export const size = (value) => `${number(value)} pp`;

/**
 * Creates columns with the error of each group as a number and a bar. A mark on the bar shows the error of the best
 * benchmark.
 * @param {readonly Group[]} groups
 */
export const errorColumns = (groups) => {
  const most = Math.max(...groups.map((row) => Math.max(row.mae_pp, bestError(row))));
  return /** @type {import('../../../../pages/data-views/table.js').Column<Group>[]} */ ([
    numbers('Error', (row) => row.mae_pp, size),
    {
      label: 'Compared with the best benchmark',
      cell: (row) => bar(row.mae_pp, { most, color: 'line-1', mark: bestError(row) }),
    },
  ]);
};
