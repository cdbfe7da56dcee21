/**
 * Loads lists such as markets, areas and series. Each list is loaded only once and then kept while the page is open.
 */
import { getJson } from '../../../pages/shared/api.js';
import { period } from '../../../pages/shared/format.js';
import { onceEach } from '../../../pages/shared/once.js';

/**
 * @typedef {import('../../client/api-types.js').Series} Series
 * @typedef {{ cbsa: string, name: string }} Named
 */

let loaded = onceEach();
addEventListener('keychange', () => {
  loaded = onceEach();
});

/** @param {string} target @returns {Promise<any[]>} */
export const listOf = (target) => loaded(target, async () => (await getJson(target)).data);

/** @returns {Promise<Series[]>} */
export const catalog = () => listOf('/series');

/** @returns {Promise<Named[]>} */
export const allMarkets = () => listOf('/markets');

/** @returns {Promise<import('../../client/api-types.js').Area[]>} */
export const allAreas = () => listOf('/areas');

/** Loads all markets, and a map from each division's code to the code and name of the parent metro. */
export const places = async () => {
  // Sequential, so that an invalid key causes only one error.
  const markets = await allMarkets();
  const areas = await allAreas();
  const names = new Map(areas.map(({ cbsa, name }) => [cbsa, name]));
  const parents = new Map(
    areas.flatMap(({ cbsa, parent }) =>
      // Includes the parent's code, so that searching for a metro's code also finds its divisions.
      parent === null ? [] : [/** @type {const} */ ([cbsa, `${parent} ${names.get(parent) ?? ''}`])],
    ),
  );
  return { markets, parents };
};

/**
 * Returns the distinct notes of the given series, or an empty array if the series cannot be loaded.
 * @param {readonly string[]} ids
 * @param {AbortSignal} signal
 */
export const notesOf = async (ids, signal) => {
  if (ids.length === 0) return [];
  const all = await catalog().catch(() => /** @type {Series[]} */ ([]));
  if (signal.aborted) return [];
  return [...new Set(all.filter((one) => ids.includes(one.series_id) && one.notes).map(({ notes }) => `${notes}`))];
};

/** @param {string} id @returns {Promise<Series | undefined>} */
export const seriesOf = async (id) => (await catalog()).find(({ series_id }) => series_id === id);

/**
 * Returns series titles by id, or an empty map if there is no valid key.
 * @returns {Promise<ReadonlyMap<string, string>>}
 */
export const titlesOf = async () => {
  const all = await catalog().catch(() => /** @type {Series[]} */ ([]));
  return new Map(all.map(({ series_id, title }) => [series_id, title]));
};

/** The series of metro indexes. Forecasts and the backtest are based on this series. */
export const HPI = 'metro_hpi';

/** @param {Series} series */
export const creditOf = ({ source, title, cadence, observation_end, last_updated }) =>
  `${source}: ${title}, up to ${observation_end ? period(observation_end, cadence) : 'nothing yet'}${last_updated ? `, as of ${last_updated.slice(0, 10)}` : ''}`;
