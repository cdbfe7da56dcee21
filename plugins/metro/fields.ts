import { type FromSchema, schemas } from 'metro-forecast-api/plugin';
import { forecastMeaning, gradeMeaning, lowerMeaning, signalMeaning } from './forecast/default-rules.js';

const { date, dateTime, nullable, record, text } = schemas;

export { date, dateTime, nullable, record, text };

export const SIGNALS = ['expand', 'hold', 'contract'] as const;
export type Signal = (typeof SIGNALS)[number];

export const RISK_GRADES = ['A', 'B', 'C', 'D', 'F'] as const;
export type RiskGrade = (typeof RISK_GRADES)[number];

export const BASES = ['published', 'reconstructed'] as const;
export type Basis = (typeof BASES)[number];

/** The series `metro_hpi` contains all metro indexes. Its values are in the collection `hpi`. */
export const METRO_HPI = 'metro_hpi';

export const cbsa = { type: 'string', pattern: '^\\d{5}$', description: 'Core-based statistical area code.' } as const;
export const percent = { type: 'number', description: 'Value in percent.', 'x-unit': 'percent' } as const;
export const rate = { type: 'number', minimum: 0, maximum: 1, description: 'Fraction from 0 to 1.' } as const;
export const standardError = {
  type: 'number',
  minimum: 0,
  description: 'Standard error of `value`, as published.',
} as const;
export const count = { type: 'integer', minimum: 1 } as const;
export const tally = { type: 'integer', minimum: 0 } as const;
export const size = {
  type: 'number',
  minimum: 0,
  description: 'Value in percentage points.',
  'x-unit': 'percentage points',
} as const;
export const scores = {
  mae_pp: { ...size, description: 'Mean absolute error, in percentage points.' },
  bias_pp: { type: 'number', description: 'Mean of `realized` minus `point`, in percentage points.' },
  coverage_80: { ...rate, description: 'Share of realized values inside the 80% interval.' },
  interval_score_80: {
    ...size,
    description:
      'Mean interval score: width of the interval plus 10 times the amount by which the outcome missed it. Lower is better.',
  },
  direction_hit_rate: { ...rate, description: 'Share of forecasts that have the same sign as the realized change.' },
  brier_score: {
    ...rate,
    description: 'Mean squared difference between `decline_probability` and the outcome: 1 for a decline, 0 otherwise.',
  },
} as const;
export const signal = { type: ['string', 'null'], enum: [...SIGNALS, null], description: signalMeaning } as const;
export const riskScore = { type: ['string', 'null'], enum: [...RISK_GRADES, null], description: gradeMeaning } as const;
export const forecast12m = { ...percent, description: forecastMeaning } as const;
export const lower80 = { ...percent, description: lowerMeaning } as const;
export const upper80 = { ...percent, description: 'Upper bound of the 80% interval, in percent.' } as const;

export const declineProbability = {
  ...nullable(rate),
  description: 'Probability of a decline. `risk_score` is derived from it.',
} as const;
export const targetPeriod = {
  ...date,
  description: 'First day of the quarter in which the forecast period ends.',
} as const;

export const runAt = {
  ...dateTime,
  description: "Time at which the index for the run's quarter became known. Runs are ordered by this time.",
} as const;

export const benchmarkPoints = {
  benchmark: {
    ...nullable(percent),
    description:
      'Point forecast of the persistence benchmark: the last 12-month change, scaled to the horizon, in percent.',
  },
  ar1_nation: {
    ...nullable(percent),
    description: 'Point forecast of a first-order autoregression on market and national growth, in percent.',
  },
  shrunk_mean: {
    ...nullable(percent),
    description:
      "0.5 times the market's last 12-month growth, scaled to the horizon, plus 0.3 times national growth and 0.2 times the mean of all quarters, in percent.",
  },
} as const;

export const runOrigin = {
  basis: {
    type: 'string',
    enum: BASES,
    description:
      '`published`: computed and served before the index of the next quarter was released. `reconstructed`: computed later from the data of `vintage`, without the quarters after the run.',
  },
  vintage: { ...date, description: 'A day on which the data used by the run was available.' },
  data_through: { ...date, description: 'First day of the last index quarter used by the run.' },
  computed_at: { ...dateTime, description: 'Time at which the run was computed.' },
  published_at: { ...dateTime, description: 'Time of the first publication.' },
} as const;

export const runRules = record({
  expand_point: { ...percent, description: 'Minimum `point` for the signal `expand`, in percent.' },
  expand_lower: {
    ...percent,
    description: 'The signal is `expand` only if `lower_80` is above this value, in percent.',
  },
  contract_point: { ...percent, description: 'The signal is `contract` if `point` is below this value, in percent.' },
  margin: {
    type: 'number',
    minimum: 0,
    description:
      'A market keeps its previous signal until its forecast crosses a threshold by more than this margin, in percentage points.',
  },
  grades: {
    type: 'array',
    items: rate,
    minItems: 4,
    maxItems: 4,
    description:
      'Upper limits of the probability of a decline for the grades A, B, C and D. A grade does not include its limit. All other probabilities get the grade F.',
  },
});

export const coefficients = {
  type: 'array',
  items: record({ name: text, value: { type: 'number' } }),
  description: 'Coefficients estimated by the run.',
} as const;

export const inputs = {
  type: 'array',
  items: record({ name: text, mean_contribution_pp: { type: 'number' } }),
  description:
    'Model inputs, in the order of `contributions`, with their mean contribution to the point forecasts in percentage points.',
} as const;

export const signalChangeShare = {
  ...rate,
  description: 'Share of markets whose signal changed since the previous quarter.',
} as const;

export type RunRules = FromSchema<typeof runRules>;
