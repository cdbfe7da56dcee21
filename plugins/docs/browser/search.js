import { find, h } from '../../../core/pages/shared/dom.js';
import { plain } from '../../../core/pages/shared/format.js';
import { optionList } from '../../../core/pages/shared/option-list.js';
import { entriesOf, remoteEntries } from './search-entries.js';

/** @import { Entry } from './search-entries.js' */

const MOST_RESULTS = 12;
/** Maximum number of results with the same name. Fields such as `id` occur in many lists. */
const MOST_OF_ONE_NAME = 3;

/** @param {string} text */
const wordsOf = (text) =>
  plain(text)
    .split(/[^\p{L}\p{N}_]+/u)
    .filter(Boolean);

/** @param {readonly Entry[]} entries @param {string} query @returns {Entry[]} */
export const search = (entries, query) => {
  const asked = wordsOf(query);
  const whole = plain(query.trim());
  if (asked.length === 0) return [];
  /** @param {Entry} entry */
  const score = ({ name, where, text, rank }) => {
    const names = wordsOf(name);
    const others = wordsOf(where);
    const more = wordsOf(text);
    let total = rank;
    for (const word of asked) {
      if (names.includes(word)) total += 30;
      else if (names.some((one) => one.startsWith(word))) total += 20;
      else if (plain(name).includes(word)) total += 12;
      else if (others.some((one) => one.startsWith(word))) total += 8;
      else if (more.some((one) => one.startsWith(word))) total += 4;
      else return 0;
    }
    // Of two equally good matches, the shorter name ranks higher.
    return total + (plain(name) === whole ? 40 : 0) - name.length / 100;
  };
  /** @type {Map<string, number>} */
  const counts = new Map();
  return entries
    .map((entry) => ({ entry, total: score(entry) }))
    .filter(({ total }) => total > 0)
    .sort((a, b) => b.total - a.total)
    .map(({ entry }) => entry)
    .filter(({ kind, name }) => {
      const count = (counts.get(`${kind} ${name}`) ?? 0) + 1;
      counts.set(`${kind} ${name}`, count);
      return count <= MOST_OF_ONE_NAME;
    })
    .slice(0, MOST_RESULTS);
};

/** @param {Entry} entry */
const contentOf = ({ kind, name, where }) => [
  h('span', { class: 'kind' }, kind),
  h('span', { class: 'what' }, name, where ? h('span', { class: 'where' }, where) : null),
];

/** @param {HTMLInputElement} input @param {import('./model.js').Model} model @param {() => void} aim */
export const startSearch = (input, model, aim) => {
  const note = find('#found-note');
  const go = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return;
    list.close();
    input.blur();
    const same = location.hash === entry.href;
    location.href = entry.href;
    if (same) aim();
  };
  const list = optionList(input, { contentOf, onpick: go });
  let entries = entriesOf(model);
  const look = () => {
    const query = input.value.trim();
    const found = search(entries, query);
    note.textContent =
      query === '' ? '' : `${found.length === 0 ? 'No' : found.length} ${found.length === 1 ? 'result' : 'results'}`;
    if (query === '') list.close();
    else list.open(found, query);
  };
  let isRequested = false;
  const addRemoteEntries = async () => {
    if (isRequested) return;
    isRequested = true;
    try {
      entries = [...entries, ...(await remoteEntries())];
      if (input.value !== '' && document.activeElement === input) look();
    } catch {
      isRequested = false;
    }
  };
  const begin = () => {
    void addRemoteEntries();
    if (input.value.trim() !== '') look();
  };
  input.addEventListener('focus', begin);
  input.addEventListener('input', look);
  input.addEventListener('blur', list.close);
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape' && list.isOpen()) list.close();
    else if (event.key === 'Enter') {
      if (!list.isOpen()) look();
      go(list.marked());
    } else if (step !== undefined && list.isOpen()) list.move(step);
    else return;
    event.preventDefault();
  });
  begin();
};
