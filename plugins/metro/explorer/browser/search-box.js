/**
 * The search box suggests pages. In the view of all markets, typing also filters the list, so the box suggests only
 * what the list does not show: states, series, lists, comparisons and metros with divisions.
 */

import { isNarrowing, searchField } from '../../../../core/pages/data-views/search-field.js';
import { mayCall } from '../../../../core/pages/shared/api.js';
import { find, h } from '../../../../core/pages/shared/dom.js';
import { optionList } from '../../../../core/pages/shared/option-list.js';
import { catalog, places } from './catalog.js';
import { loadZips } from './zip-codes.js';

/** @import { Option } from './search-options.js' */

/** @param {Option} option */
const contentOf = ({ label, detail }) => [label, h('span', { class: 'muted' }, ` ${detail}`)];

/** @param {string} query */
const lookUp = async (query) => {
  const lists = await places();
  const [{ optionsFor }, series] = await Promise.all([import('./search-options.js'), catalog(), loadZips(query)]);
  return optionsFor(query, { ...lists, series });
};

/**
 * The search form of the front page sends the query as `?q=`. If there is one clear match, opens its view. Otherwise,
 * the list of markets shows all matches.
 */
export const openSearched = async () => {
  const query = new URLSearchParams(location.search).get('q') ?? '';
  if (query.trim() === '' || !mayCall()) return;
  const { sure } = await lookUp(query);
  if (sure) history.replaceState(history.state, '', `${location.pathname}${sure.address}`);
};

export const startSearch = () => {
  const field = searchField();
  const go = (/** @type {Option} */ { address }) => {
    list.close();
    field.value = '';
    field.blur();
    location.hash = address;
  };
  const list = optionList(field, { contentOf, onpick: go, advice: 'Try a metro, state, ZIP code, series or grade.' });

  const suggest = async () => {
    const query = field.value;
    if (query.trim() === '' || !mayCall()) return list.close();
    const { options, others } = await lookUp(query);
    if (query !== field.value) return;
    if (isNarrowing() && others === 0) list.close();
    else list.open(options, query);
  };
  const submit = async () => {
    const query = field.value;
    if (query.trim() === '' || !mayCall()) return;
    const marked = list.isOpen() ? list.marked() : undefined;
    const { options } = marked ? { options: [marked] } : await lookUp(query);
    if (query !== field.value) return;
    if (options[0]) go(options[0]);
    else if (!isNarrowing()) list.open(options, query);
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
