import { problemView } from '../shared/problems.js';

/**
 * Returns a function that aborts its previous signal and returns a new signal. A slow request can then no longer replace
 * the result of a later request.
 * @param {AbortSignal} signal aborted when the user leaves the view; also aborts the latest signal
 * @returns {() => AbortSignal}
 */
export const latestOf = (signal) => {
  let current = new AbortController();
  signal.addEventListener('abort', () => current.abort());
  return () => {
    current.abort();
    current = new AbortController();
    if (signal.aborted) current.abort();
    return current.signal;
  };
};

/**
 * Shows the result of `make`, or its error with a retry button. Drops the result if a newer call has started. Sets
 * `aria-busy` on `place` while waiting.
 * @template Made @param {() => AbortSignal} next from `latestOf` @param {HTMLElement} place shows the error
 * @param {(shown: AbortSignal) => Promise<Made>} make @param {(made: Made, shown: AbortSignal) => void} show
 * @returns {Promise<void>}
 */
export const showLatest = async (next, place, make, show) => {
  const shown = next();
  place.setAttribute('aria-busy', 'true');
  try {
    const made = await make(shown);
    if (shown.aborted) return;
    show(made, shown);
  } catch (error) {
    if (shown.aborted) return;
    place.replaceChildren(problemView(error, () => void showLatest(next, place, make, show)));
  }
  place.removeAttribute('aria-busy');
};
