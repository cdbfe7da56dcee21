import { find, focusOnSlash } from '../shared/dom.js';

export const searchField = () => /** @type {HTMLInputElement} */ (find('#search'));

/** @type {((query: string) => void) | undefined} */
let narrow;

export const isNarrowing = () => narrow !== undefined;

/** @param {string} query @param {(query: string) => void} onquery @param {AbortSignal} signal */
export const narrowBy = (query, onquery, signal) => {
  const field = searchField();
  field.value = query;
  narrow = onquery;
  signal.addEventListener('abort', () => {
    if (narrow !== onquery) return;
    narrow = undefined;
    field.value = '';
  });
};

export const startSearchField = () => {
  const field = searchField();
  field.addEventListener('input', () => narrow?.(field.value));
  focusOnSlash(field);
};
