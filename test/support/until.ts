import { setTimeout as delay } from 'node:timers/promises';

/** Calls `find` until the result is neither undefined nor false, and resolves with the result. */
export const until = async <T>(
  find: () => T | undefined | false | Promise<T | undefined | false>,
  { withinMs = 30_000, everyMs = 10 } = {},
): Promise<T> => {
  for (const end = performance.now() + withinMs; performance.now() < end; await delay(everyMs)) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`This did not happen within ${withinMs} ms: ${find}`);
};
