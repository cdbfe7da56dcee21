/** Checks a limiter from the send and receive times that a client observed. */
import { WINDOW_MS } from '../../core/contracts/limiter.js';
import type { Answer } from './load-client.js';

export const isAllowed = ({ status }: Answer): boolean => status === 200 || status === 404 || status === 400;
export const isRejected = ({ status }: Answer): boolean => status === 429;

/**
 * Returns the highest number of allowed requests that were sent and answered within one window. The limiter counts each
 * of these requests within the window, so a number above the limit is a bug.
 */
export const mostInWindow = (answers: readonly Answer[]): number => {
  const passed = answers.filter(isAllowed).sort((a, b) => a.sent - b.sent);
  const ends = passed.map(({ received }) => received);
  let most = 0;
  for (const [i, { sent }] of passed.entries()) {
    let inside = 0;
    for (let j = i; j < ends.length && (passed[j] as Answer).sent <= sent + WINDOW_MS; j++) {
      // A window includes its start and excludes its end.
      if ((ends[j] as number) < sent + WINDOW_MS) inside++;
    }
    most = Math.max(most, inside);
  }
  return most;
};

/**
 * Returns the rejections that were too early, because the window before the rejection had fewer allowed requests than
 * the limit. Counts every allowed request that could be in this window.
 * @param lateMs maximum milliseconds from the end of a window until its permits are available again
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
      // The window contains the requests sent before the rejection arrived, minus the requests answered before the
      // window of the rejected request.
      below(sent, answer.received) - below(received, answer.sent - WINDOW_MS - lateMs) < limit,
  );
};
