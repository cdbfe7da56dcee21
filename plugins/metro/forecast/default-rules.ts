/** The default thresholds of signals and grades, and what they mean in words. */

/** Of the type `Rules`, which is derived from the collections; they import this file. */
export const defaultRules = {
  expandPoint: 4,
  expandLower: 0,
  contractPoint: 0,
  grades: [0.1, 0.2, 0.35, 0.5],
} as const;

const { expandPoint, expandLower, contractPoint, grades } = defaultRules;
const [a, b, c, d] = grades.map((limit) => `${Number((100 * limit).toFixed(4))}%`);
const UNLESS = 'A run may have other thresholds: see its `rules` in `/forecast-runs`.';

export const signalMeaning =
  `\`expand\`: a point forecast of ${expandPoint}% or more, with a lower bound above ${expandLower}%. \`contract\`: a point ` +
  `forecast below ${contractPoint}%. \`hold\`: everything else. ${UNLESS}`;

export const gradeMeaning =
  `Grade of the probability that the index declines: A below ${a}, B below ${b}, C below ${c}, D below ${d}, F from ${d} on. ` +
  `Probabilities are calibrated with the outcomes of earlier forecasts. ${UNLESS}`;

export const forecastMeaning =
  'Forecast 12-month return: the change of the index over the 12 months after its newest quarter, in percent. ' +
  `\`expand\` needs ${expandPoint} or more, \`contract\` is below ${contractPoint}.`;

export const lowerMeaning =
  'Lower bound of the 80% interval, in percent. Over the years, 80% of the outcomes lie inside the interval. ' +
  `\`expand\` needs it above ${expandLower}.`;
