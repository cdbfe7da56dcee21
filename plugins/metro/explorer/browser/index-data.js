import { getJson, request } from '../../../../core/pages/shared/api.js';
import { forecastsName } from './basis.js';
import { catalog, HPI, listOf, seriesOf } from './catalog.js';
import { medianOf, quarterMeans, valuesOf, yearlyChange } from './market-figures.js';

/** @import { Series } from '../../client/api-types.js' */
/** @import { GroupRecord } from './grades.js' */
/** @import { Observation } from './market-figures.js' */

export const PRICES = 'CPIAUCSL';
export const NATION = 'USSTHPI';

/** The index of a state has an id such as `TXSTHPI`. The index of the nation is `USSTHPI`. @param {string} id */
export const isAreaIndex = (id) => /^[A-Z]{2}STHPI$/.test(id);

/** @param {{ cbsa: string, name: string, kind: string }} area */
export const indexSeriesOf = async ({ name, kind }) =>
  ['state', 'nation'].includes(kind)
    ? (await catalog()).find(({ series_id, geography }) => isAreaIndex(series_id) && geography === name)
    : seriesOf(HPI);

/** @param {Series} series @param {string} cbsa @param {'yoy' | 'real'} units */
export const indexTarget = ({ series_id, kind }, cbsa, units) =>
  `/observations?series_id=${encodeURIComponent(series_id)}${kind === 'metro' ? `&cbsa=${cbsa}` : ''}&units=${units}`;

/** @param {string} id @param {AbortSignal} signal @returns {Promise<Observation[]>} */
export const observationsOf = async (id, signal) => {
  const known = (await catalog()).some(({ series_id }) => series_id === id);
  if (!known) return [];
  return (await getJson(`/observations?series_id=${encodeURIComponent(id)}`, { signal })).data;
};

/** @param {string} cbsa @param {AbortSignal} signal */
export const indexOf = async (cbsa, signal) =>
  valuesOf((await getJson(`/markets/${encodeURIComponent(cbsa)}/history`, { signal })).data);

/** @param {Series | undefined} series */
export const hasRealTerms = (series) => series?.supported_units.includes('real') === true;

/**
 * @param {string} target @param {AbortSignal} signal
 * @returns {Promise<{ rows: Observation[], base: string | undefined }>}
 */
export const realOf = async (target, signal) => {
  const rows = /** @type {(Observation & { base_period: string })[]} */ ((await getJson(target, { signal })).data);
  return { rows, base: rows[0]?.base_period };
};

/**
 * CSV responses are a third of the size of JSON responses.
 * @param {AbortSignal} signal @param {string} [since] @param {string} [until]
 * @param {readonly string[]} [codes] Default: all markets
 * @returns {Promise<Map<string, Map<string, number>>>}
 */
export const allIndexes = async (signal, since, until, codes = []) => {
  const span = `${since ? `&since=${since}` : ''}${until ? `&until=${until}` : ''}${codes.length > 0 ? `&cbsa=${codes}` : ''}`;
  const text = await (await request(`/observations?series_id=${HPI}${span}`, { accept: 'text/csv', signal })).text();
  const [heads = '', ...lines] = text.trim().split(/\r?\n/);
  const names = heads.split(',');
  const at = ['cbsa', 'period_start', 'value'].map((name) => names.indexOf(name));
  /** @type {Map<string, Map<string, number>>} */
  const found = new Map();
  for (const line of lines) {
    const cells = line.split(',');
    const [cbsa = '', date = '', value = ''] = at.map((index) => cells[index]);
    if (!found.has(cbsa)) found.set(cbsa, new Map());
    found.get(cbsa)?.set(date, Number(value));
  }
  return found;
};

/** Uses the median of all markets if the dataset has no national index. @param {AbortSignal} signal */
export const nationOf = async (signal) => {
  const rows = await observationsOf(NATION, signal);
  if (rows.length > 0)
    return { label: `Nation (${NATION})`, source: NATION, changes: yearlyChange(quarterMeans(rows)) };
  const all = await allIndexes(signal);
  return { label: 'Median of all markets', source: HPI, changes: medianOf([...all.values()].map(yearlyChange)) };
};

/** @param {string} state @param {AbortSignal} signal */
export const stateOf = async (state, signal) => {
  const id = `${state}STHPI`;
  const rows = await observationsOf(id, signal);
  return rows.length === 0 ? undefined : { label: `${state} (${id})`, changes: yearlyChange(quarterMeans(rows)) };
};

/** @param {'grade' | 'signal'} by @returns {Promise<GroupRecord[]>} */
export const recordsBy = async (by) => {
  /** @type {(query: string) => Promise<GroupRecord[]>} */
  const breakdown = (query) => listOf(`/forecast-backtest/breakdown?${query}`);
  const [all, recent, bases] = await Promise.all([
    breakdown(`by=${by}`),
    breakdown(`by=${by}&since=2014-01-01`),
    breakdown('by=basis'),
  ]);
  const count = (/** @type {string} */ basis) => bases.find(({ group }) => group === basis)?.n ?? 0;
  const forecasts = forecastsName(count('reconstructed'), count('published') + count('reconstructed'));
  return all.map((row) => ({ ...row, forecasts, recent: recent.find(({ group }) => group === row.group) }));
};
