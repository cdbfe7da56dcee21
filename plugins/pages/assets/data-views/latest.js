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
