import { number, percent, share } from '../../../../pages/shared/format.js';
import { limitsOf, recordOf } from '../grades.js';

/** @import { ForecastTrack as Track } from '../../../client/api-types.js' */

/**
 * @typedef {{ expand_point: number, expand_lower: number, contract_point: number, margin: number, grades: number[] }}
 * Rules
 */

/** @param {Pick<Track, 'point' | 'lower_80'>} forecast @param {Rules} rules */
const plainSignalOf = ({ point, lower_80 }, rules) => {
  if (point < rules.contract_point) return 'contract';
  return point >= rules.expand_point && lower_80 !== null && lower_80 > rules.expand_lower ? 'expand' : 'hold';
};

/** @param {Track} forecast @param {Rules} rules */
const signalReason = ({ point, lower_80, signal }, rules) => {
  if (!signal) return '';
  const low = lower_80 === null ? 'it has no lower bound' : `its lower bound is ${percent(lower_80)}`;
  const forecast = `the forecast of ${percent(point)}`;
  const margin = `${number(rules.margin, 1)} percentage points`;
  if (signal !== plainSignalOf({ point, lower_80 }, rules))
    return `The signal stays ${signal} because ${forecast} is within ${margin} of a forecast with that signal.`;
  const [expand, contract] = [`${number(rules.expand_point, 1)}%`, `${number(rules.contract_point, 1)}%`];
  const lowest = `${number(rules.expand_lower, 1)}%`;
  const hold =
    point < rules.expand_point
      ? `${forecast} is between ${contract} and ${expand}`
      : `${forecast} is high enough for expand, but ${low}, not above ${lowest}`;
  const reason = {
    expand: `${forecast} is at least ${expand}, and ${low}, above ${lowest}`,
    contract: `${forecast} is below ${contract}`,
    hold,
  }[signal];
  return reason ? `The signal is ${signal} because ${reason}.` : '';
};

/** @param {Track} forecast @param {Rules} rules */
const gradeReason = ({ risk_score, decline_probability }, rules) => {
  const limits = limitsOf(rules, risk_score);
  if (!limits) return '';
  const here = decline_probability === null ? '' : `. Here it is ${share(decline_probability)}`;
  return `Grade ${risk_score} means that the probability of a decline is ${limits}, according to the model${here}.`;
};

/**
 * @param {Track} forecast @param {Rules | null} rules
 * @param {readonly import('../grades.js').GroupRecord[]} records
 * @returns {string[]}
 */
export const reasonsOf = (forecast, rules, records) =>
  rules
    ? [
        [signalReason(forecast, rules), recordOf(records, forecast.signal)],
        [gradeReason(forecast, rules), recordOf(records, forecast.risk_score)],
      ].flatMap((sentences) => sentences.filter(Boolean).join(' ') || [])
    : [];
