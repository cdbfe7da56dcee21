import type { Context, Hook, Test } from 'mocha';

const testsOf = (runnable: Hook | Test): readonly Test[] => {
  if (runnable.type === 'test') return [runnable];
  const tests: Test[] = [];
  runnable.parent?.eachTest((test) => void tests.push(test as Test));
  return tests;
};

/** Skips the current test, or all tests of the current `before` hook. Adds the reason to their titles. */
export const skip = (context: Context, reason: string): never => {
  for (const test of testsOf(context.runnable() as Hook | Test)) test.title += ` (skipped: ${reason})`;
  return context.skip();
};
