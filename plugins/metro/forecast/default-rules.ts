/** The type `Rules` is not imported, because the import would create a cycle. */
export const defaultRules = {
  expandPoint: 4,
  expandLower: 0,
  contractPoint: -1,
  margin: 1,
  grades: [0.1, 0.2, 0.35, 0.5],
} as const;

const { expandPoint, expandLower, contractPoint, margin, grades } = defaultRules;
const [a, b, c, d] = grades.map((limit) => `${Number((100 * limit).toFixed(4))}%`);
const UNLESS = 'A run can use different thresholds: see its `rules` in `/forecast-runs`.';

export const signalMeaning =
  `\`expand\`: a point forecast of ${expandPoint}% or more, with a lower bound above ${expandLower}%. \`contract\`: a point ` +
  `forecast below ${contractPoint}%. \`hold\`: everything else. A market keeps its previous signal ` +
  `until its forecast crosses a threshold by more than ${margin} percentage point. ${UNLESS}`;

export const gradeMeaning = `Grade based on \`decline_probability\`: A below ${a}, B below ${b}, C below ${c}, D below ${d}, otherwise F. ${UNLESS}`;

export const forecastMeaning =
  'Forecast 12-month return: the change in the index over the 12 months after its newest quarter, in percent.';

export const lowerMeaning =
  'Lower bound of the 80% interval, in percent. Over many years, 80% of the outcomes should lie inside the interval; ' +
  'in any single year, far fewer may.';
