import { keepInAddress, listIn, setChoices } from '../../../../core/pages/data-views/address.js';

/**
 * The parameters of the addresses of each view, with the values that they accept. Each value of a list is checked. Null
 * accepts any text. All views accept `figure`.
 * @type {Readonly<Record<string, Readonly<Record<string, RegExp | null>>>>}
 */
const PARAMETERS = {
  markets: {
    q: null,
    state: /^[A-Z]{2}$/,
    signal: /^(?:expand|hold|contract)$/,
    grade: /^[ABCDF]$/,
    colour: null,
    sort: null,
    rows: /^all$/,
    maps: /^years$/,
    run: null,
  },
  market: { show: /^(?:level|change|real)$/, years: /^\d+$/, beside: /^nation$/ },
  compare: { m: /./, s: /./, show: /^(?:rebased|change|nation)$/, real: /^1$/, from: /^\d{4}$/ },
  series: { sort: null },
  'one series': { years: /^\d+$/ },
};

/** @type {ReadonlyMap<string, string>} */
const SORTS = new Map([
  ['forecast_12m', 'forecast'],
  ['yoy_price', 'last'],
  ['risk_score', 'grade'],
]);

/** @param {string} name @param {string} value */
const normalised = (name, value) => {
  if (name === 'signal') return value.toLowerCase();
  if (name === 'real') return value === 'true' ? '1' : value;
  return name === 'state' || name === 'grade' ? value.toUpperCase() : value;
};

/**
 * Joins the values of repeated parameters, and removes values that the view does not have. Returns these values.
 * @param {string} view @param {URLSearchParams} query
 */
const readValues = (view, query) => {
  /** @type {string[]} */
  const unknown = [];
  /** @type {Record<string, string>} */
  const checked = {};
  for (const [name, valid] of Object.entries(PARAMETERS[view] ?? {})) {
    if (valid === null) continue;
    const given = query.getAll(name);
    const values = listIn(given.join()).map((value) => normalised(name, value));
    const kept = [...new Set(values)].filter((value) => valid.test(value));
    unknown.push(...values.filter((value) => !valid.test(value)).map((value) => `${name}=${value}`));
    if (given.length > 0 && given.join('&') !== kept.join()) checked[name] = kept.join();
  }
  return { unknown, checked };
};

/**
 * Replaces the API's names of parameters, such as `risk_score`, by the names in the view, also in the address. Returns
 * the parameters and values that the view does not have.
 * @param {string} view @param {URLSearchParams} query
 */
export const readParameters = (view, query) => {
  const known = new Set(['figure', ...Object.keys(PARAMETERS[view] ?? {})]);
  /** @type {Record<string, string | null>} */
  const renamed = {};
  if (query.has('risk_score') && known.has('grade')) {
    for (const grade of query.getAll('risk_score')) query.append('grade', grade);
    Object.assign(renamed, { grade: query.getAll('grade').join(), risk_score: null });
  }
  const { unknown, checked } = readValues(view, query);
  Object.assign(renamed, checked);
  const [, sign = '', column = ''] = /^(-?)(.+)$/.exec(query.get('sort') ?? '') ?? [];
  const key = SORTS.get(column);
  if (key !== undefined && view === 'markets') renamed['sort'] = `${sign}${key}`;
  setChoices(query, renamed);
  if (Object.keys(renamed).length > 0) keepInAddress(renamed);
  return [...[...new Set(query.keys())].filter((name) => !known.has(name)), ...unknown];
};
