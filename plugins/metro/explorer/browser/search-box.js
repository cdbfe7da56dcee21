/** Suggests markets below the search box: Enter goes to one. The start page narrows its list instead. */

import { isNarrowing, searchField } from '../../../pages/data-views/search-field.js';
import { getKey } from '../../../pages/shared/api.js';
import { find, h } from '../../../pages/shared/dom.js';
import { places } from './catalog.js';
import { onlyOne, plainName, searcher, stateNamed } from './search.js';

/** @typedef {import('./catalog.js').Named} Named */

const SUGGESTED = 8;

export const startSearch = () => {
  const field = searchField();
  if (!field) return;
  const list = find('#found');
  /** @type {Named[]} */
  let found = [];
  let chosen = 0;

  const close = () => {
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };
  const mark = () => {
    for (const [index, each] of [...list.children].entries())
      each.setAttribute('aria-selected', String(index === chosen));
    if (chosen < 0) field.removeAttribute('aria-activedescendant');
    else field.setAttribute('aria-activedescendant', `found-${chosen}`);
  };
  const go = (/** @type {Named | undefined} */ market) => {
    if (!market) return;
    close();
    field.value = '';
    field.blur();
    location.hash = `#/markets/${market.cbsa}`;
  };
  const look = async () => {
    const query = field.value;
    if (query.trim() === '' || getKey() === '') {
      found = [];
      return close();
    }
    const { markets, parents } = await places();
    if (query !== field.value) return;
    found = searcher(markets, parents)(query);
    const meant = stateNamed(query) ? undefined : onlyOne(query, found);
    // Of several that would do, the reader chooses.
    chosen = meant ? found.slice(0, SUGGESTED).indexOf(meant) : -1;
    if (isNarrowing()) return close();
    list.replaceChildren(
      ...found
        .slice(0, SUGGESTED)
        .map((market, index) =>
          h(
            'div',
            { id: `found-${index}`, role: 'option', onmousedown: () => go(market) },
            plainName(market.name),
            h('span', { class: 'muted' }, ` ${market.cbsa}`),
          ),
        ),
    );
    if (found.length === 0) {
      list.append(h('div', { role: 'option', 'aria-disabled': 'true' }, `No market is called “${query.trim()}”.`));
    }
    list.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    mark();
  };
  field.addEventListener('input', () => void look().catch(() => undefined));
  field.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') close();
    if (step !== undefined && !list.hidden) {
      event.preventDefault();
      const length = Math.min(found.length, SUGGESTED);
      if (length === 0) return;
      chosen = (Math.max(chosen, step > 0 ? -1 : 0) + step + length) % length;
      mark();
    }
  });
  field.addEventListener('blur', close);
  find('#finder').addEventListener('submit', (event) => {
    event.preventDefault();
    if (!list.hidden && chosen >= 0) return go(found[chosen]);
    const query = field.value;
    const state = stateNamed(query);
    if (state) {
      close();
      field.value = '';
      field.blur();
      location.hash = `#/markets?state=${state}`;
      return;
    }
    void look()
      .then(() => go(onlyOne(query, found)))
      .catch(() => undefined);
  });
};
