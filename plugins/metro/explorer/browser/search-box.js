/**
 * Suggests markets below the search box, and opens one on Enter. In the view of all markets, the box filters the list.
 */

import { isNarrowing, searchField } from '../../../pages/data-views/search-field.js';
import { mayCall } from '../../../pages/shared/api.js';
import { find, h } from '../../../pages/shared/dom.js';
import { places } from './catalog.js';
import { onlyOne, plainName, searcher, stateNamed } from './search.js';

/** @typedef {import('./catalog.js').Named} Named */

const SUGGESTED = 8;

/** @param {HTMLInputElement} field @param {(market: Named) => void} onpick */
const suggestionList = (field, onpick) => {
  const list = find('#found');
  /** @type {readonly Named[]} */
  let shown = [];
  /** The index of the marked suggestion, or -1 if none is marked. */
  let marked = -1;
  const mark = (/** @type {number} */ index) => {
    marked = index;
    for (const [at, each] of [...list.children].entries()) each.setAttribute('aria-selected', String(at === marked));
    if (marked < 0) field.removeAttribute('aria-activedescendant');
    else field.setAttribute('aria-activedescendant', `found-${marked}`);
  };
  const option = (/** @type {Named} */ market, /** @type {number} */ index) =>
    h(
      'div',
      { id: `found-${index}`, role: 'option', onmousedown: () => onpick(market) },
      plainName(market.name),
      h('span', { class: 'muted' }, ` ${market.cbsa}`),
    );
  return {
    isOpen: () => !list.hidden,
    marked: () => shown[marked],
    close: () => {
      list.hidden = true;
      field.setAttribute('aria-expanded', 'false');
      field.removeAttribute('aria-activedescendant');
    },
    /** @param {readonly Named[]} markets @param {Named | undefined} meant @param {string} query */
    open: (markets, meant, query) => {
      shown = markets.slice(0, SUGGESTED);
      list.replaceChildren(...shown.map(option));
      if (shown.length === 0) {
        list.append(h('div', { role: 'option', 'aria-disabled': 'true' }, `No market is called “${query.trim()}”.`));
      }
      list.hidden = false;
      field.setAttribute('aria-expanded', 'true');
      // If the query could mean several markets, none is marked.
      mark(meant ? shown.indexOf(meant) : -1);
    },
    /** @param {number} step 1 or -1 */
    move: (step) => {
      if (shown.length === 0) return;
      mark((Math.max(marked, step > 0 ? -1 : 0) + step + shown.length) % shown.length);
    },
  };
};

/** The markets that a query finds, and the one that it means. @param {string} query */
const lookUp = async (query) => {
  const { markets, parents } = await places();
  const found = searcher(markets, parents)(query);
  return { found, meant: onlyOne(query, found) };
};

export const startSearch = () => {
  const field = searchField();
  if (!field) return;
  const go = (/** @type {string} */ address) => {
    list.close();
    field.value = '';
    field.blur();
    location.hash = address;
  };
  const goToMarket = (/** @type {Named} */ { cbsa }) => go(`#/markets/${cbsa}`);
  const list = suggestionList(field, goToMarket);

  const suggest = async () => {
    const query = field.value;
    if (query.trim() === '' || !mayCall() || isNarrowing()) return list.close();
    const { found, meant } = await lookUp(query);
    if (query !== field.value) return;
    list.open(found, stateNamed(query) ? undefined : meant, query);
  };
  const submit = async () => {
    const marked = list.isOpen() ? list.marked() : undefined;
    if (marked) return goToMarket(marked);
    const query = field.value;
    const state = stateNamed(query);
    if (state) return go(`#/markets?state=${state}`);
    if (query.trim() === '' || !mayCall()) return;
    const { found, meant } = await lookUp(query);
    if (query !== field.value) return;
    if (meant) goToMarket(meant);
    else if (!isNarrowing()) list.open(found, undefined, query);
  };
  field.addEventListener('input', () => void suggest().catch(() => undefined));
  field.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') list.close();
    if (step === undefined || !list.isOpen()) return;
    event.preventDefault();
    list.move(step);
  });
  field.addEventListener('blur', list.close);
  find('#finder').addEventListener('submit', (event) => {
    event.preventDefault();
    void submit().catch(() => undefined);
  });
};
