/** The search box above every view, which `/` focuses. If the view has a list, the text filters the list. */
import { focusOnSlash } from '../shared/dom.js';

/** Returns the search box, or null on a page in a frame. */
export const searchField = () => /** @type {HTMLInputElement | null} */ (document.querySelector('#search'));

/** @type {((query: string) => void) | undefined} */
let narrow;

/** Whether the view's list uses the search box. */
export const isNarrowing = () => narrow !== undefined;

/**
 * @param {string} query shown in the box
 * @param {(query: string) => void} onquery called with the text, until the view ends
 * @param {AbortSignal} signal
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
