import { number, share } from '../../../../core/pages/shared/format.js';

/**
 * @typedef {{ n: number, decline_share: number }} Outcomes
 * @typedef {Outcomes & { group: string, forecasts: string, recent?: Outcomes | undefined }} GroupRecord `recent`:
 *   outcomes since 2014, after the housing crash
 * @typedef {{ grades: readonly number[] }} Limits upper limits of the probabilities for the grades A to D, from 0 to 1
 */

/**
 * @typedef {Limits & { expand_point: number, expand_lower: number, contract_point: number, margin: number }} Rules
 *   thresholds of a run, in percent
 */

/** @param {Rules} rules */
export const signalsText = ({ expand_point, expand_lower, contract_point, margin }) =>
  `Signals: expand for a forecast of at least ${number(expand_point, 1)}% with a lower bound above ${number(expand_lower, 1)}%, contract for one below ${number(contract_point, 1)}%, otherwise hold. ` +
  `A market keeps its signal within ${number(margin, 1)} percentage points of a threshold. `;

/** @param {number} fraction */
const chance = (fraction) => `${number(fraction * 100, 0)}%`;

/** @param {Limits} limits @param {string | null} grade @returns {string} */
export const limitsOf = ({ grades: [a = 0, b = 0, c = 0, d = 0] }, grade) =>
  ({
    A: `below ${chance(a)}`,
    B: `from ${chance(a)} to below ${chance(b)}`,
    C: `from ${chance(b)} to below ${chance(c)}`,
    D: `from ${chance(c)} to below ${chance(d)}`,
    F: `${chance(d)} or more`,
  })[grade ?? ''] ?? '';

/** @param {readonly GroupRecord[]} records @param {string | null} group @returns {string} */
export const recordOf = (records, group) => {
  const record = records.find((each) => each.group === group && each.n > 0);
  if (!record) return '';
  const { recent } = record;
  const isAll = recent?.n === record.n;
  const since = recent && !isAll ? `; of ${number(recent.n, 0)} from 2014 on, ${share(recent.decline_share)}` : '';
  return `Of ${number(record.n, 0)} ${record.forecasts} with ${group}${isAll ? ', all from 2014 on' : ''}, ${share(record.decline_share)} were followed by a decline${since}.`;
};
