import { problemView } from '../shared/problems.js';

/**
 * Creates a function that returns a new signal and aborts the signal of the previous call. A slow request then cannot
 * replace the result of a later request.
 * @param {AbortSignal} signal aborting it also aborts the latest signal
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
 * Shows the result of `make`, or its error with a retry button. The result is dropped if a newer call has started.
 * @template Made @param {() => AbortSignal} next from `latestOf` @param {HTMLElement} place
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
