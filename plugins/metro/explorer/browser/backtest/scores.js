import { number } from '../../../../pages/shared/format.js';

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

/** Returns the predicted number of declines minus the actual number. @param {readonly Group[]} grades */
const excessOf = (grades) =>
  grades.reduce(
    (sum, row) => sum + row.n * ((row.predicted_decline_share ?? row.decline_share) - row.decline_share),
    0,
  );

/**
 * Returns a warning if the probabilities were too low before 2014 and too high since then, because these errors cancel
 * out in the total. Otherwise returns an empty string.
 * @param {readonly Group[]} before grades of targets to 2013 @param {readonly Group[]} since grades of targets from 2014
 */
export const periodsText = (before, since) =>
  excessOf(before) < 0 && excessOf(since) > 0
    ? 'All years together look better than each period: the probabilities were too low up to 2013 and have been too high since.'
    : '';
