/** The meaning of risk grades, and the outcomes of past forecasts by grade. */
import { number, share } from '../../../pages/shared/format.js';

/**
 * @typedef {{ group: string, n: number, decline_share: number, predicted_decline_share: number | null }} Record
 * @typedef {{ grades: readonly number[] }} Limits upper ends of the probabilities of A to D, as fractions
 */

/** @param {number} fraction */
const chance = (fraction) => `${number(fraction * 100, 0)}%`;

/** @param {Limits} limits @param {string | null} grade @returns {string} empty for an unknown grade */
export const limitsOf = ({ grades: [a = 0, b = 0, c = 0, d = 0] }, grade) =>
  ({
    A: `below ${chance(a)}`,
    B: `from ${chance(a)} to below ${chance(b)}`,
    C: `from ${chance(b)} to below ${chance(c)}`,
    D: `from ${chance(c)} to below ${chance(d)}`,
    F: `${chance(d)} and more`,
  })[grade ?? ''] ?? '';

/** @param {readonly Record[]} records @param {string | null} grade @returns {string} empty if no forecast has come due */
export const recordOf = (records, grade) => {
  const record = records.find(({ group, n }) => group === grade && n > 0);
  return record
    ? `Of ${number(record.n, 0)} past forecasts graded ${grade}, ${share(record.decline_share)} declined.`
    : '';
};
