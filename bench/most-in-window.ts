/** How exact a limit is, from what a caller saw: how many requests passed within one window. */

/** A request that passed; the limiter decided on it somewhere between the two moments, in milliseconds. */
export interface Passed {
  readonly sentAt: number;
  readonly receivedAt: number;
}

/**
 * The most that passed within any `windowMs`: such that all were sent after its beginning and answered before its end,
 * so that no delay on the way can make it more than the limiter let pass.
 */
export const mostInWindow = (passed: readonly Passed[], windowMs: number): number =>
  Math.max(
    0,
    ...passed.map(
      ({ sentAt: begin }) =>
        passed.filter(({ sentAt, receivedAt }) => sentAt >= begin && receivedAt < begin + windowMs).length,
    ),
  );
