/** Checks properties with fast-check, and shows the smallest counterexample. */
import assert from 'node:assert/strict';
import type * as FastCheck from 'fast-check';
import { slowness } from './expect.js';

/** Time limit for checking a property on an idle machine. If the adapter is slow, fewer examples are checked. */
const LIMIT_MS = 4000;
/** With a fixed seed, every run uses the same examples, so failures are reproducible. */
export const SEED = 24;

/** `fast-check` is an optional peer dependency. Undefined if the package is not installed. */
export const fc: typeof FastCheck | undefined = await import('fast-check').catch((error: NodeJS.ErrnoException) => {
  if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
  throw error;
});

export const WITHOUT_FAST_CHECK = !fc && 'fast-check is not installed: npm install --save-dev fast-check';

export type Check = typeof FastCheck;

/**
 * Fails with the smallest counterexample if the property does not hold.
 * @param shown formats a counterexample; called immediately after `test` has rejected
 */
export const holds = async <T>(
  arbitrary: FastCheck.Arbitrary<T>,
  runs: number,
  test: (value: T) => Promise<void>,
  shown: (value: T) => string,
  seed = SEED,
  limitMs = LIMIT_MS,
): Promise<void> => {
  let failure: { readonly message: string; readonly example: string } | undefined;
  let running: Promise<void> | undefined;
  const property = fc!.asyncProperty(arbitrary, async (value) => {
    try {
      running = test(value);
      await running;
    } catch (error) {
      failure = { message: (error as Error).message, example: shown(value) };
      throw error;
    }
  });
  let result = await fc!.check(property, {
    numRuns: runs,
    seed,
    interruptAfterTimeLimit: limitMs * Math.min(4, slowness()),
    markInterruptAsFailure: false,
  });
  // On a slow machine, the time limit can end before the first example starts.
  if (!running) result = await fc!.check(property, { numRuns: 1, seed });
  const hasCounterexample = result.failed && result.counterexample !== null;
  // The time limit does not stop the running example. If that example fails later, it overwrites `failure`.
  const smallest = failure;
  const [last] = await Promise.allSettled([running]);
  // fast-check ignores the result of the example that the time limit interrupted, so it is checked here.
  if (!hasCounterexample && last.status === 'fulfilled') return;
  const { message, example } = (hasCounterexample && smallest) || failure!;
  const found = `found after ${result.numRuns} examples and ${result.numShrinks} steps of shrinking`;
  assert.fail(`${message}\n  the smallest example, ${found}:\n${example}\n`);
};
