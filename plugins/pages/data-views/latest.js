/** Makes sure that only the last of several choices in quick succession has an effect. */
import { problemView } from '../shared/problems.js';

/**
 * Gives each choice a signal, so that a slow earlier choice does not replace a later one.
 * @param {AbortSignal} signal of the view
 * @returns {() => AbortSignal} a signal that the next choice and the end of the view abort
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
 * Shows the result of the last choice, or its error.
 * @template Made
 * @param {() => AbortSignal} next of `latestOf` @param {HTMLElement} place shows an error
 * @param {(shown: AbortSignal) => Promise<Made>} make @param {(made: Made, shown: AbortSignal) => void} show
 * @returns {Promise<void>}
 */
export const showLatest = async (next, place, make, show) => {
  const shown = next();
  try {
    const made = await make(shown);
    if (!shown.aborted) show(made, shown);
  } catch (error) {
    if (shown.aborted) return;
    place.replaceChildren(problemView(error, () => void showLatest(next, place, make, show)));
  }
};
