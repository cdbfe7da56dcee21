/** How many requests of a caller passed in a minute, by what the caller has seen. */
import type { Answer } from './load-client.js';

export const WINDOW_MS = 60_000;

export const isPassed = ({ status }: Answer): boolean => status === 200 || status === 404 || status === 400;
export const isRefused = ({ status }: Answer): boolean => status === 429;

/**
 * The most requests that surely passed within one window: those sent and answered inside of it. A request was
 * counted at some moment in between, so more than the limit here is a proof that too many passed.
 */
export const mostInWindow = (answers: readonly Answer[]): number => {
  const passed = answers.filter(isPassed).sort((a, b) => a.sent - b.sent);
  const ends = passed.map(({ received }) => received);
  let most = 0;
  for (const [i, { sent }] of passed.entries()) {
    let inside = 0;
    for (let j = i; j < ends.length && (passed[j] as Answer).sent <= sent + WINDOW_MS; j++) {
      // Just short of a whole window: exactly one window after another, a request counts no more.
      if ((ends[j] as number) < sent + WINDOW_MS) inside++;
    }
    most = Math.max(most, inside);
  }
  return most;
};
