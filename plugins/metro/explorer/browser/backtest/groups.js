/** Groups of past forecasts, as `/forecast-backtest/breakdown` gives them. */
import { bar } from '../../../../pages/data-views/bars.js';
import { numbers } from '../../../../pages/data-views/table.js';
import { number } from '../../../../pages/shared/format.js';

/** @typedef {import('../../../client/api-types.js').BacktestGroup} Group */

/** @param {string} by */
export const breakdownTarget = (by) => `/forecast-backtest/breakdown?by=${by}`;

/** The size of an error. @param {number} value */
export const size = (value) => `${number(value)} pp`;

/** The error of each group, as a number and as a bar with a mark at the error of persistence. @param {readonly Group[]} groups */
export const errorColumns = (groups) => {
  const most = Math.max(...groups.map(({ mae_pp, benchmark_mae_pp }) => Math.max(mae_pp, benchmark_mae_pp)));
  return /** @type {import('../../../../pages/data-views/table.js').Column<Group>[]} */ ([
    numbers('Error', (row) => row.mae_pp, size),
    {
      label: 'Compared with persistence',
      cell: (row) => bar(row.mae_pp, { most, color: 'line-1', mark: row.benchmark_mae_pp }),
    },
  ]);
};
