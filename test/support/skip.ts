/** Skips tests, and states the reason. */
import type { Context, Hook, Test } from 'mocha';

const testsOf = (runnable: Hook | Test): readonly Test[] => {
  if (runnable.type === 'test') return [runnable];
  const tests: Test[] = [];
  runnable.parent?.eachTest((test) => void tests.push(test as Test));
  return tests;
};

/** Skips the running test, or all tests of the running `before` hook. Their titles in the report contain the reason. */
export const skip = (context: Context, reason: string): never => {
  for (const test of testsOf(context.runnable() as Hook | Test)) test.title += ` (skipped: ${reason})`;
  return context.skip();
};
