import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 30_000;

/** Calls `find` until the result is neither undefined nor false, and resolves with the result. */
export const until = async <T>(find: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> => {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await delay(10)) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`This did not happen within ${PATIENCE_MS} ms: ${find}`);
};
