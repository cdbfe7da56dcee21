import { counted } from '../../../../core/pages/shared/format.js';
import { NICKNAMES } from './nicknames.js';
import { onlyOne, placeIn, plainName, STATES, searcher, stateNamed, statesOf, wordsOf } from './search.js';
import { compareOptions, listOptions, seriesNamed } from './search-topics.js';
import { metroOfZip } from './zip-codes.js';

/**
 * @typedef {{ label: string, detail: string, address: string }} Option
 * @typedef {{ markets: readonly import('./catalog.js').Market[], parents: ReadonlyMap<string, string>,
 *   areas: readonly import('../../client/api-types.js').Area[], series: readonly import('../../client/api-types.js').Series[] }} Lists
 */

const MOST_MARKETS = 5;
const MOST_OTHERS = 3;
const LEAST_LETTERS = 3;

/** @param {string} query @param {string} title */
const hasWords = (query, title) => {
  const words = wordsOf(title);
  return (
    query.trim().length >= LEAST_LETTERS &&
    wordsOf(query).every((typed) => words.some((word) => word.startsWith(typed)))
  );
};

/** @param {string} query @param {Lists} lists */
const seriesOptions = (query, { series }) => {
  const id = query.trim().toLowerCase();
  const ids = seriesNamed(query);
  const found = ids
    ? ids.flatMap((each) => series.filter(({ series_id }) => series_id === each))
    : series
        .filter(({ kind }) => kind === 'macro')
        .filter(({ series_id, title }) => series_id.toLowerCase().startsWith(id) || hasWords(query, title))
        .toSorted((a, b) => Number(b.series_id.toLowerCase() === id) - Number(a.series_id.toLowerCase() === id));
  return found.map(({ series_id, title }) => ({
    ...{ label: title, detail: `series ${series_id}`, address: `#/series/${encodeURIComponent(series_id)}` },
    isExact: ids !== undefined || series_id.toLowerCase() === id,
  }));
};

/**
 * Finds metros with divisions. FHFA publishes no index for such a metro, only for its divisions. The option therefore
 * opens the list of divisions.
 * @param {string} query @param {Lists} lists
 */
const dividedOptions = (query, { areas }) =>
  areas
    .filter(({ divisions }) => divisions.length > 0)
    .filter(({ cbsa, name }) => cbsa === query.trim() || hasWords(query, name))
    .map(({ cbsa, name, divisions }) => ({
      ...{ label: name, detail: `${cbsa}, ${divisions.length} divisions`, address: `#/markets?q=${cbsa}` },
      isExact: cbsa === query.trim(),
    }));

/** @param {string} query @param {Lists} lists */
const stateOptions = (query, { markets }) => {
  const code = stateNamed(query);
  if (!code) return [];
  const count = markets.filter(({ name }) => statesOf(name).includes(code)).length;
  const option = {
    label: `${STATES.get(code)}`,
    detail: `state, ${counted(count, 'market')}`,
    address: `#/markets?state=${code}`,
  };
  return count === 0 ? [] : [option];
};

/**
 * The best options come first. If a market and a state share a name, such as New York, the market comes first.
 * @param {string} typedQuery @param {Lists} lists
 * @returns {{ options: Option[], others: number, sure: Option | undefined }}
 */
export const optionsFor = (typedQuery, lists) => {
  const query = placeIn(typedQuery);
  if (query.trim() === '') return { options: [], others: 0, sure: undefined };
  const find = searcher(lists.markets, lists.parents);
  const topics = [...listOptions(typedQuery), ...compareOptions(typedQuery, lists.markets, find)];
  const states = stateOptions(query, lists);
  const others = [...seriesOptions(typedQuery, lists), ...dividedOptions(query, lists)].slice(0, MOST_OTHERS);
  // An exact match of another kind is better than a market whose name is only similar.
  const isKnown = topics.length + states.length + others.length > 0;
  const found = find(query, !isKnown);
  const meant = onlyOne(query, found);
  const ordered = meant ? [meant, ...found.filter((one) => one !== meant)] : found;
  const markets = ordered.slice(0, MOST_MARKETS).map(({ cbsa, name }) => ({
    ...{ label: plainName(name), detail: metroOfZip(query) === cbsa ? `ZIP code ${query.trim()}` : cbsa },
    ...{ address: `#/markets/${cbsa}` },
    city: wordsOf(name.replace(/[-–/,].*/, '')).join(' '),
  }));
  const exact = others.filter(({ isExact }) => isExact);
  const typed = wordsOf(query).join(' ');
  // Markets come before states if the query is a city ("new york") or a nickname ("la").
  const isCity = markets[0]?.city === typed || NICKNAMES.some(([name]) => name === typed);
  const [first, last] = isCity ? [markets, states] : [states, markets];
  const options = [...topics, ...exact, ...first, ...last, ...others.filter(({ isExact }) => !isExact)];
  return {
    options,
    others: topics.length + others.length + states.length,
    sure: meant || options[0] !== markets[0] ? options[0] : undefined,
  };
};
