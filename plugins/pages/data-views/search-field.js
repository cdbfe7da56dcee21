import { focusOnSlash } from '../shared/dom.js';

/** Embedded pages have no search box. */
export const searchField = () => /** @type {HTMLInputElement | null} */ (document.querySelector('#search'));

/** @type {((query: string) => void) | undefined} */
let narrow;

export const isNarrowing = () => narrow !== undefined;

/**
 * @param {string} query initial text
 * @param {(query: string) => void} onquery called whenever the text changes
 * @param {AbortSignal} signal aborted when the user leaves the view
 */
export const narrowBy = (query, onquery, signal) => {
  const field = searchField();
  if (field) field.value = query;
  narrow = onquery;
  signal.addEventListener('abort', () => {
    if (narrow !== onquery) return;
    narrow = undefined;
    if (field) field.value = '';
  });
};

export const startSearchField = () => {
  const field = searchField();
  if (!field) return;
  field.addEventListener('input', () => narrow?.(field.value));
  focusOnSlash(field);
};
