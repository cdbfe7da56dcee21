/** Loads lists once per page, such as markets, areas, and the series with their notes (attributions). */
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

/** Loads a list once. It does not change while the page is open. @param {string} target @returns {Promise<any[]>} */
export const listOf = (target) => loaded(target, async () => (await getJson(target)).data);

/** @returns {Promise<Series[]>} */
export const catalog = () => listOf('/series');

/** @returns {Promise<Named[]>} */
export const allMarkets = () => listOf('/markets');

/** @returns {Promise<import('../../client/api-types.js').Area[]>} */
export const allAreas = () => listOf('/areas');

/** All markets, and for each division the code and name of its metro. */
export const places = async () => {
  // The requests are sent one after the other, so that a wrong key causes only one error.
  const markets = await allMarkets();
  const areas = await allAreas();
  const names = new Map(areas.map(({ cbsa, name }) => [cbsa, name]));
  const parents = new Map(
    areas.flatMap(({ cbsa, parent }) =>
      // A search for the code of a metro also finds its divisions.
      parent === null ? [] : [/** @type {const} */ ([cbsa, `${parent} ${names.get(parent) ?? ''}`])],
    ),
  );
  return { markets, parents };
};

/**
 * Returns the distinct notes of the given series. Empty if the series cannot be loaded.
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

/** The titles of series by id. Empty without a key. @returns {Promise<ReadonlyMap<string, string>>} */
export const titlesOf = async () => {
  const all = await catalog().catch(() => /** @type {Series[]} */ ([]));
  return new Map(all.map(({ series_id, title }) => [series_id, title]));
};

/** The series behind the markets, their forecasts and the backtest. */
export const HPI = 'metro_hpi';

/** The source of a series, for saved pictures. @param {Series} series */
export const creditOf = ({ source, title, cadence, observation_end, last_updated }) =>
  `${source}: ${title}, up to ${observation_end ? period(observation_end, cadence) : 'nothing yet'}${last_updated ? `, as of ${last_updated.slice(0, 10)}` : ''}`;
