/** How many requests of a caller passed in a minute, by what the caller has seen. */
import { WINDOW_MS } from '../../core/contracts/limiter.js';
import type { Answer } from './load-client.js';

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

/**
 * Refusals with fewer than the limit in the window before them, even if every request that may have been counted
 * in it was: each is a proof that the limit was not used up.
 * @param lateMs how late a slot may come back
 */
export const refusedTooSoon = (answers: readonly Answer[], limit: number, lateMs = 0): Answer[] => {
  const passed = answers.filter(isPassed);
  const sent = passed.map((answer) => answer.sent).sort((a, b) => a - b);
  const received = passed.map((answer) => answer.received).sort((a, b) => a - b);
  const below = (times: readonly number[], bound: number): number => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((times[middle] as number) < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return answers.filter(
    (answer) =>
      isRefused(answer) &&
      // Sent before the refusal was received, less those answered before the window that ended when it was sent.
      below(sent, answer.received) - below(received, answer.sent - WINDOW_MS - lateMs) < limit,
  );
};
