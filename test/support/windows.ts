/** Lower bounds of the requests that a limiter allowed in a window, from what the client observed. */
import { WINDOW_MS } from '../../core/contracts/limiter.js';
import type { Answer } from './load-client.js';

export const isAllowed = ({ status }: Answer): boolean => status === 200 || status === 404 || status === 400;
export const isRejected = ({ status }: Answer): boolean => status === 429;

/**
 * The most requests that were certainly allowed within one window: those sent and answered inside of it. A request
 * counts at some time in between, so a result above the limit proves that too many were allowed.
 */
export const mostInWindow = (answers: readonly Answer[]): number => {
  const passed = answers.filter(isAllowed).sort((a, b) => a.sent - b.sent);
  const ends = passed.map(({ received }) => received);
  let most = 0;
  for (const [i, { sent }] of passed.entries()) {
    let inside = 0;
    for (let j = i; j < ends.length && (passed[j] as Answer).sent <= sent + WINDOW_MS; j++) {
      // Less than a whole window: exactly one window later, a request no longer counts.
      if ((ends[j] as number) < sent + WINDOW_MS) inside++;
    }
    most = Math.max(most, inside);
  }
  return most;
};

/**
 * Rejections with fewer requests than the limit in the preceding window, even if every request that may have counted
 * did. Each proves that the limit was not used up.
 * @param lateMs how late a permit may become available again
 */
export const rejectedTooSoon = (answers: readonly Answer[], limit: number, lateMs = 0): Answer[] => {
  const passed = answers.filter(isAllowed);
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
      isRejected(answer) &&
      // Sent before the rejection was received, minus those answered before the window that ended when it was sent.
      below(sent, answer.received) - below(received, answer.sent - WINDOW_MS - lateMs) < limit,
  );
};
