/** Choices made one after another, of which the last one counts. */
import { problemView } from '../shared/problems.js';

/**
 * Of choices made one after another only the last one's result is shown, also where an earlier one takes longer.
 * @param {AbortSignal} signal of the view
 * @returns {() => AbortSignal} for each choice its signal, aborted by the next choice and with the view
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
 * Shows what the last choice leads to, or why it fails.
 * @template Made
 * @param {() => AbortSignal} next of `latestOf` @param {HTMLElement} place where a failure is told
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
