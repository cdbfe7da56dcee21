import { list, number, percent, share } from '../../../../../core/pages/shared/format.js';
import { limitsOf, recordOf } from '../grades.js';

/** @import { ForecastTrack as Track } from '../../../client/api-types.js' */

/** @import { Rules } from '../grades.js' */

/** @param {Pick<Track, 'point' | 'lower_80'>} forecast @param {Rules} rules */
const plainSignalOf = ({ point, lower_80 }, rules) => {
  if (point < rules.contract_point) return 'contract';
  return point >= rules.expand_point && lower_80 !== null && lower_80 > rules.expand_lower ? 'expand' : 'hold';
};

/**
 * The values that have not crossed a threshold by more than the margin.
 * @param {Pick<Track, 'point' | 'lower_80' | 'signal'>} forecast @param {Rules} rules
 */
const keptBy = ({ point, lower_80, signal }, rules) => {
  const { expand_point, expand_lower, contract_point, margin } = rules;
  const isNear = (/** @type {number} */ value, /** @type {number} */ limit) => Math.abs(value - limit) <= margin;
  const nearOf = (/** @type {string} */ name, /** @type {number | null} */ value, /** @type {number} */ limit) =>
    value !== null && isNear(value, limit)
      ? [`${name} of ${percent(value)} is within the margin of ${number(limit, 1)}%`]
      : [];
  const isLow = signal === 'contract' || point < contract_point;
  return isLow
    ? nearOf('the forecast', point, contract_point)
    : [...nearOf('the forecast', point, expand_point), ...nearOf('the lower bound', lower_80, expand_lower)];
};

/** @param {Track} forecast @param {Rules} rules */
const signalReason = ({ point, lower_80, signal }, rules) => {
  if (!signal) return '';
  const low = lower_80 === null ? 'it has no lower bound' : `its lower bound is ${percent(lower_80)}`;
  const forecast = `the forecast of ${percent(point)}`;
  if (signal !== plainSignalOf({ point, lower_80 }, rules)) {
    const kept = keptBy({ point, lower_80, signal }, rules);
    const margin = `A signal changes only if the threshold is crossed by more than ${number(rules.margin, 1)} percentage points.`;
    return kept.length > 0
      ? `The signal stays ${signal} because ${list(kept)}. ${margin}`
      : `The signal stays ${signal}. ${margin}`;
  }
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
