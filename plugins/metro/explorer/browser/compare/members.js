import { listIn } from '../../../../../core/pages/data-views/address.js';
import { onceEach } from '../../../../../core/pages/shared/once.js';
import { catalog, HPI, places, seriesOf } from '../catalog.js';
import { hasRealTerms, indexOf, indexTarget, isAreaIndex, NATION, observationsOf, realOf } from '../index-data.js';
import { quarterMeans } from '../market-figures.js';
import { plainName, searcher, tellingName } from '../search.js';

/** @import { Series } from '../../../client/api-types.js' */
/** @import { Market } from '../catalog.js' */

/**
 * @typedef {{ values: Map<string, number>, base: string | undefined }} Real values by quarter, and base month
 *   of the prices
 * @typedef {{ id: string, kind: 'm' | 's', label: string, short: string, values: Map<string, number>, rates: boolean,
 *   real?: () => Promise<Real> }} Member `rates`: whether the values are in percent; `real`: loads the values in real
 *   terms; absent if not supported
 * @typedef {'rebased' | 'change' | 'nation'} Show
 * @typedef {{ m: string[], s: string[], show: Show, real: boolean, from: string }} Choices `m`: CBSA codes,
 *   `s`: series ids
 */

export const MOST_MEMBERS = 8;
/** Example markets, shown if the URL contains no members. */
const EXAMPLE = ['12420', '19740'];

/** @type {readonly (readonly [Show, string])[]} */
export const SHOWS = [
  ['rebased', 'Start = 100'],
  ['change', 'Yearly change'],
  ['nation', 'Difference from the nation'],
];

/**
 * @param {Series | undefined} series @param {string} cbsa
 * @param {AbortSignal} signal @returns {Pick<Member, 'real'>}
 */
const realTerms = (series, cbsa, signal) => {
  if (!series || !hasRealTerms(series)) return {};
  const target = indexTarget(series, cbsa, 'real');
  const once = onceEach();
  // If a month of a quarter lacks consumer prices, the chart omits the quarter. The API uses the same rule.
  const least = series.cadence === 'monthly' ? 3 : 1;
  const load = async () => {
    const { rows, base } = await realOf(target, signal);
    return { values: quarterMeans(rows, least), base };
  };
  return { real: () => once(target, load) };
};

/** @param {Market} market @param {readonly Market[]} all @param {AbortSignal} signal @returns {Promise<Member>} */
const metro = async ({ cbsa: id, name }, all, signal) => {
  const [values, series] = await Promise.all([indexOf(id, signal), seriesOf(HPI)]);
  const terms = realTerms(series, id, signal);
  return { id, kind: 'm', label: plainName(name), short: tellingName(name, all), values, rates: false, ...terms };
};

/** @param {Series} series @param {AbortSignal} signal @returns {Promise<Member>} */
const macro = async (series, signal) => {
  const { series_id: id, title, geography, units } = series;
  const values = quarterMeans(await observationsOf(id, signal));
  const short = isAreaIndex(id) ? geography : id;
  const rates = /percent/i.test(units);
  return { id, kind: 's', label: `${title} (${id})`, short, values, rates, ...realTerms(series, '', signal) };
};

/** @param {AbortSignal} signal */
export const offerOf = async (signal) => {
  const [{ markets, areas, parents }, all] = await Promise.all([places(), catalog()]);
  const macros = all.filter(({ kind }) => kind === 'macro');
  const marketBy = new Map(markets.map((market) => [market.cbsa, market]));
  const macroBy = new Map(macros.map((one) => [one.series_id, one]));
  const once = onceEach();
  return {
    markets,
    areas,
    macros,
    find: searcher(markets, parents),
    isMarket: (/** @type {string} */ id) => marketBy.has(id),
    isMacro: (/** @type {string} */ id) => macroBy.has(id),
    /** @param {Choices} chosen @returns {Promise<Member[]>} */
    members: ({ m, s }) => {
      const loads = [
        ...m.flatMap((id) => marketBy.get(id) ?? []).map((one) => () => metro(one, markets, signal)),
        ...s.flatMap((id) => macroBy.get(id) ?? []).map((one) => () => macro(one, signal)),
      ];
      const ids = [...m, ...s];
      return Promise.all(loads.slice(0, MOST_MEMBERS).map((load, index) => once(`${ids[index]}`, load)));
    },
  };
};

/** @typedef {Awaited<ReturnType<typeof offerOf>>} Offer */

/** @param {URLSearchParams} query @param {Offer} offer */
export const choicesOf = (query, { markets, areas, isMarket, isMacro }) => {
  const [m, s] = [listIn(query.get('m')), listIn(query.get('s'))];
  const isExample = m.length + s.length === 0;
  const example = EXAMPLE.every(isMarket) ? EXAMPLE : markets.slice(0, EXAMPLE.length).map(({ cbsa }) => cbsa);
  /** @type {Choices} */
  const chosen = {
    m: isExample ? [...example] : m.filter(isMarket),
    s: (isExample ? [NATION] : s).filter(isMacro),
    show: SHOWS.find(([each]) => each === query.get('show'))?.[0] ?? 'rebased',
    real: query.get('real') === '1',
    from: query.get('from') ?? '2008',
  };
  const unknown = m.filter((id) => !isMarket(id));
  const divided = areas.filter(({ cbsa, divisions }) => unknown.includes(cbsa) && divisions.some(isMarket));
  const missing = [
    ...unknown.filter((id) => !divided.some(({ cbsa }) => cbsa === id)).map((id) => `market ${id}`),
    ...s.filter((id) => !isMacro(id)).map((id) => `series ${id}`),
  ];
  const problem = [
    ...missing.map((what) => `There is no ${what}, so it was left out.`),
    ...divided.map(({ name }) => `${name} has an index only for its divisions. Add one of them:`),
  ].join(' ');
  return {
    chosen,
    isExample,
    problem,
    divisions: divided.flatMap(({ divisions }) => markets.filter(({ cbsa }) => divisions.includes(cbsa))),
  };
};
