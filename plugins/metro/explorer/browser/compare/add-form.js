import { h } from '../../../../../core/pages/shared/dom.js';
import { isAreaIndex } from '../index-data.js';
import { namesIn, onlyOne, plainName } from '../search.js';
import { loadZips } from '../zip-codes.js';
import { MOST_MEMBERS } from './members.js';

/** @import { Offer } from './members.js' */

/** @typedef {{ m: readonly string[], s: readonly string[] }} Members */

/** @typedef {{ added?: Partial<Members>, problem?: string, offered?: Offer['markets'] }} Answer */

const MOST_OFFERED = 8;
const UNKNOWN = 'No market or series has this name.';

/** @param {string} text @param {Offer} offer */
const meant = (text, { macros, find }) => {
  const id = text.replace(/ .*/, '').toLowerCase();
  const isMeant = (/** @type {import('../../../client/api-types.js').Series} */ { series_id, geography }) =>
    series_id.toLowerCase() === id || (isAreaIndex(series_id) && geography.toLowerCase() === text.toLowerCase());
  const macro = macros.find(isMeant);
  const found = macro ? [] : find(text);
  const market = found.find(({ name }) => plainName(name) === text) ?? onlyOne(text, found);
  return { macro, market, found };
};

/** @param {string} text @param {Offer} offer @param {Members} members @returns {Answer} */
const answerOf = (text, offer, { m, s }) => {
  const { macro, market, found } = meant(text, offer);
  if (m.length + s.length >= MOST_MEMBERS)
    return { problem: `You can compare at most ${MOST_MEMBERS}. Remove one first.` };
  if (macro && !s.includes(macro.series_id)) return { added: { s: [...s, macro.series_id] } };
  if (market && !m.includes(market.cbsa)) return { added: { m: [...m, market.cbsa] } };
  if (macro || market) return { problem: 'It is already in the chart.' };
  if (found.length === 0) return { problem: UNKNOWN };
  const some = found.length > MOST_OFFERED ? ` The first ${MOST_OFFERED}:` : '';
  return { problem: `${found.length} markets match. Which one?${some}`, offered: found.slice(0, MOST_OFFERED) };
};

/** @param {string} text @param {Offer} offer @param {Members} members @returns {Answer} */
const answersOf = (text, offer, members) => {
  const whole = answerOf(text, offer, members);
  const names = namesIn(text);
  if (whole.problem !== UNKNOWN || names.length < 2) return whole;
  let all = members;
  const answers = names.map((name) => {
    const answer = answerOf(name, offer, all);
    if (answer.added) all = { ...all, ...answer.added };
    return { name, ...answer };
  });
  return {
    ...(all === members ? {} : { added: all }),
    problem: answers.flatMap(({ name, problem }) => (problem ? `${name}: ${problem}` : [])).join(' '),
    offered: answers.flatMap(({ offered = [] }) => offered),
  };
};

/** @param {Offer} offer */
const suggestions = ({ markets, macros }) =>
  h(
    'datalist',
    { id: 'addable' },
    ...markets.map(({ name }) => h('option', { value: plainName(name) })),
    ...macros.map(({ series_id, title }) => h('option', { value: `${series_id} ${title}` })),
  );

/**
 * @param {Offer} offer
 * @param {{ problem: string, offered: Offer['markets'], members: () => Members, onadd: (added: Partial<Members>) =>
 *   void }} options `problem`: initial message about invalid members in the URL; `offered`: divisions that the user can
 *   add instead of a metro without an index
 */
export const addForm = (offer, { problem: first, offered: divisions, members, onadd }) => {
  const problem = h('span', { class: 'problem', role: 'alert' }, first);
  const which = h('div', { class: 'row', role: 'group', 'aria-label': 'Markets found' });
  const field = h('input', { id: 'add', list: 'addable', autocomplete: 'off', placeholder: 'Austin, Boise, Ohio' });
  const clear = () => {
    problem.textContent = '';
    which.replaceChildren();
    field.value = '';
  };
  const offerButton = (/** @type {Offer['markets'][number]} */ { cbsa, name }) => {
    const take = () => {
      const { m } = members();
      onadd({ m: m.includes(cbsa) ? m : [...m, cbsa] });
      clear();
      field.focus();
    };
    return h('button', { type: 'button', class: 'quiet', onclick: take }, plainName(name));
  };
  which.append(...divisions.map(offerButton));
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = field.value.trim();
    problem.textContent = '';
    which.replaceChildren();
    if (text === '') return;
    await Promise.all(namesIn(text).map(loadZips));
    const { added, problem: reason, offered = [] } = answersOf(text, offer, members());
    if (added) {
      onadd(added);
      clear();
    }
    problem.textContent = reason ?? '';
    which.replaceChildren(...offered.map(offerButton));
  };
  return h(
    'form',
    { class: 'row', onsubmit: add },
    h('div', h('label', { for: 'add' }, 'Add a market or a series'), field),
    suggestions(offer),
    h('button', { type: 'submit' }, 'Add'),
    problem,
    which,
  );
};
