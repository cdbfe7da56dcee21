import { OperatorError } from 'metro-forecast-api/plugin';
import { RISK_GRADES, type RiskGrade, type RunRules, type Signal } from '../collections.js';
import { normalCdf } from './normal-distribution.js';

/** The central 80% of a normal distribution span 2 x 1.2816 standard deviations. */
const SIGMAS_WIDE = 2.563;

export interface Rules {
  /** The signal `expand` requires a point forecast of at least this value, in percent. */
  readonly expandPoint: number;
  /** The signal `expand` requires a lower bound above this value, in percent. */
  readonly expandLower: number;
  /** The signal `contract` requires a point forecast below this value, in percent. */
  readonly contractPoint: number;
  /** A forecast must cross a threshold by this margin in percentage points before the signal changes. */
  readonly margin: number;
  /** The grades A to D require a decline probability below these limits. All other probabilities get the grade F. */
  readonly grades: readonly [a: number, b: number, c: number, d: number];
}

/** A forecast in percent. The bounds are null if the model has none. */
export interface Outlook {
  readonly point: number;
  readonly lower_80: number | null;
  readonly upper_80: number | null;
}

/** A forecast without bounds is never `expand`. */
const plainSignalOf = ({ point, lower_80 }: Outlook, rules: Rules): Signal => {
  if (point < rules.contractPoint) return 'contract';
  return point >= rules.expandPoint && lower_80 !== null && lower_80 > rules.expandLower ? 'expand' : 'hold';
};

/**
 * Returns the signal of a forecast. Small changes in the data do not change a signal, because the forecast must cross a
 * threshold by more than the margin.
 * @param previous signal of the market in the previous run
 */
export const signalOf = (outlook: Outlook, rules: Rules, previous?: Signal | null): Signal => {
  const [low, plain, high] = [-rules.margin, 0, rules.margin].map((shift) => {
    const lower_80 = outlook.lower_80 === null ? null : outlook.lower_80 + shift;
    return plainSignalOf({ ...outlook, point: outlook.point + shift, lower_80 }, rules);
  }) as [Signal, Signal, Signal];
  if (previous === 'hold') return low !== 'expand' && high !== 'contract' ? 'hold' : plain;
  return previous === low || previous === high ? previous : plain;
};

/**
 * Returns the probability that the index declines over 12 months, or null without bounds. With a normally distributed
 * forecast error, the probability is Phi(-point / sigma), where sigma = (upper - lower) / 2.563.
 */
export const declineProbability = ({ point, lower_80, upper_80 }: Outlook): number | null => {
  if (lower_80 === null || upper_80 === null) return null;
  const sigma = (upper_80 - lower_80) / SIGMAS_WIDE;
  return sigma === 0 && point === 0 ? 0.5 : normalCdf(-point / sigma);
};

export const riskGradeOf = (probability: number | null, rules: Rules): RiskGrade | null => {
  if (probability === null) return null;
  const grade = rules.grades.findIndex((limit) => probability < limit);
  return (grade === -1 ? RISK_GRADES.at(-1) : RISK_GRADES[grade]) as RiskGrade;
};

export const toRunRules = ({ expandPoint, expandLower, contractPoint, margin, grades }: Rules): RunRules => ({
  expand_point: expandPoint,
  expand_lower: expandLower,
  contract_point: contractPoint,
  margin,
  grades,
});

/** @throws OperatorError that lists all contradictions */
export const checkRules = (rules: Rules): Rules => {
  const errors: string[] = [];
  if (rules.expandPoint < rules.contractPoint) {
    errors.push(
      `expand from ${rules.expandPoint}% and contract below ${rules.contractPoint}% overlap: lower the second value`,
    );
  }
  if (rules.margin < 0) errors.push(`margin ${rules.margin}: must not be below 0`);
  rules.grades.forEach((limit, index) => {
    if (limit <= 0 || limit > 1) errors.push(`grade ${RISK_GRADES[index]}: ${limit} is not a probability above 0`);
    const before = rules.grades[index - 1];
    if (before !== undefined && limit <= before) {
      errors.push(`grade ${RISK_GRADES[index]}: ${limit} must be above ${before}, the limit of the grade before it`);
    }
  });
  if (errors.length > 0) throw new OperatorError('The rules for signals and grades contradict each other:', errors);
  return rules;
};
