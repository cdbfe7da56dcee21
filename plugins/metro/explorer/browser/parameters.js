import { keepInAddress, setChoices } from '../../../pages/data-views/address.js';

/** Parameters of the addresses of each view. All views accept `figure`. @type {Readonly<Record<string, string>>} */
const PARAMETERS = {
  markets: 'q state signal grade colour sort rows maps run',
  market: 'show years beside',
  compare: 'm s show real from',
  series: 'sort',
  'one series': 'years',
};

/** @type {ReadonlyMap<string, string>} */
const SORTS = new Map([
  ['forecast_12m', 'forecast'],
  ['yoy_price', 'last'],
  ['risk_score', 'grade'],
]);

/**
 * Replaces the API's names of parameters, such as `risk_score`, by the names in the view, also in the address. Returns
 * the parameters that the view does not have.
 * @param {string} view @param {URLSearchParams} query
 */
export const readParameters = (view, query) => {
  const known = new Set(`figure ${PARAMETERS[view] ?? ''}`.split(' '));
  /** @type {Record<string, string | null>} */
  const renamed = {};
  const grade = query.get('risk_score');
  if (grade !== null && known.has('grade')) Object.assign(renamed, { grade, risk_score: null });
  const [, sign = '', column = ''] = /^(-?)(.+)$/.exec(query.get('sort') ?? '') ?? [];
  const key = SORTS.get(column);
  if (key !== undefined && view === 'markets') renamed['sort'] = `${sign}${key}`;
  setChoices(query, renamed);
  if (Object.keys(renamed).length > 0) keepInAddress(renamed);
  return [...new Set(query.keys())].filter((name) => !known.has(name));
};
