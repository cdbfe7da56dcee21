/** The search box: `/` goes to it. A list is narrowed as somebody types; from elsewhere, Enter leads to the list. */
import { readAddress } from './address.js';
import { find } from './dom.js';

/** @type {((query: string) => void) | undefined} */
let narrowed;

const field = () => /** @type {HTMLInputElement} */ (/** @type {unknown} */ (find('#search')));

/**
 * @param {string} query shown in the box
 * @param {(query: string) => void} onquery told of what is typed, as long as the view is there
 * @param {AbortSignal} signal
 */
export const narrowBy = (query, onquery, signal) => {
  field().value = query;
  narrowed = onquery;
  signal.addEventListener('abort', () => {
    if (narrowed !== onquery) return;
    narrowed = undefined;
    field().value = '';
  });
};

/** @param {readonly string[]} tables names, the first of which is searched where the view is of none */
export const startSearch = (tables) => {
  const input = field();
  input.addEventListener('input', () => narrowed?.(input.value));
  find('#finder').addEventListener('submit', (event) => {
    event.preventDefault();
    if (narrowed) return;
    const here = readAddress().parts[0] ?? '';
    location.hash = `#/${tables.includes(here) ? here : tables[0]}?q=${encodeURIComponent(input.value)}`;
  });
};
