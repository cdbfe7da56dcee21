import { getJson } from '../../../../core/pages/shared/api.js';
import { period } from '../../../../core/pages/shared/format.js';
import { onceEach } from '../../../../core/pages/shared/once.js';

/** @import { Area, Series } from '../../client/api-types.js' */

/** @typedef {Required<import('../../client/api-types.js').Market>} FullMarket */
/** @typedef {Pick<FullMarket, 'cbsa' | 'name' | 'signal' | 'risk_score' | 'yoy_price' | 'forecast_12m'>} Market */

let loaded = onceEach();
addEventListener('keychange', () => {
  loaded = onceEach();
});

/** @param {string} target @returns {Promise<any[]>} */
export const listOf = (target) => loaded(target, async () => (await getJson(target)).data);

/** @returns {Promise<Series[]>} */
export const catalog = () => listOf('/series');

/** @returns {Promise<Market[]>} */
export const allMarkets = () => listOf('/markets?fields=signal,risk_score,yoy_price,forecast_12m');

/** @returns {Promise<Area[]>} */
export const allAreas = () => listOf('/areas');

/** `parents` maps each division to the code and name of its metro. */
export const places = async () => {
  // The lists are not loaded in parallel, because an invalid key would cause two errors.
  const markets = await allMarkets();
  const areas = await allAreas();
  const names = new Map(areas.map(({ cbsa, name }) => [cbsa, name]));
  const parents = new Map(
    areas.flatMap(({ cbsa, parent }) =>
      // A search for the code of a metro also finds its divisions.
      parent === null ? [] : [/** @type {const} */ ([cbsa, `${parent} ${names.get(parent) ?? ''}`])],
    ),
  );
  return { markets, areas, parents };
};

/** @param {readonly string[]} ids @param {AbortSignal} signal */
export const notesOf = async (ids, signal) => {
  if (ids.length === 0) return [];
  const all = await catalog().catch(() => /** @type {Series[]} */ ([]));
  if (signal.aborted) return [];
  return [...new Set(all.filter((one) => ids.includes(one.series_id) && one.notes).map(({ notes }) => `${notes}`))];
};

/** @param {string} id @returns {Promise<Series | undefined>} */
export const seriesOf = async (id) => (await catalog()).find(({ series_id }) => series_id === id);

/** @returns {Promise<ReadonlyMap<string, string>>} */
export const titlesOf = async () => {
  const all = await catalog().catch(() => /** @type {Series[]} */ ([]));
  return new Map(all.map(({ series_id, title }) => [series_id, title]));
};

export const HPI = 'metro_hpi';

/** @param {Series} series */
export const creditOf = ({ source, title, cadence, observation_end, last_updated }) =>
  `${source}: ${title}, up to ${observation_end ? period(observation_end, cadence) : 'nothing yet'}${last_updated ? `, as of ${last_updated.slice(0, 10)}` : ''}`;
