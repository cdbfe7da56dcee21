/** The search box above every view: `/` goes to it, and what is typed narrows the list of a view that has one. */
import { focusOnSlash } from '../shared/dom.js';

/** Null on a page inside another one, which has none. */
export const searchField = () => /** @type {HTMLInputElement | null} */ (document.querySelector('#search'));

/** @type {((query: string) => void) | undefined} */
let narrow;

/** Whether the view narrows its list by the box. */
export const isNarrowing = () => narrow !== undefined;

/**
 * @param {string} query shown in the box
 * @param {(query: string) => void} onquery told of what is typed, as long as the view is there
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
