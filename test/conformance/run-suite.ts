/** Runs the conformance suite inside of a test, and tells which of its tests fail. */
import Mocha from 'mocha';
import { type AdapterUnderTest, describeAdapter } from '../../conformance/index.js';

const GLOBALS = ['describe', 'it', 'before', 'after', 'beforeEach', 'afterEach', 'context', 'specify', 'run'] as const;

export interface Outcome {
  readonly passed: number;
  readonly skipped: number;
  /** Titles of the tests that failed, without the adapter's heading, each with its error. */
  readonly failed: ReadonlyMap<string, Error>;
}

export const runSuite = async (target: AdapterUnderTest): Promise<Outcome> => {
  const mocha = new Mocha({ reporter: Mocha.reporters.Base, timeout: 20_000 });
  const scope = globalThis as Record<string, unknown>;
  const outer = Object.fromEntries(GLOBALS.map((name) => [name, scope[name]]));
  // As mocha does before it loads a file: from here on `describe` and `it` add to this instance.
  mocha.suite.emit('pre-require', globalThis as never, '', mocha);
  try {
    describeAdapter(target);
  } finally {
    Object.assign(scope, outer);
  }

  const heading = mocha.suite.suites[0]!.fullTitle();
  const failed = new Map<string, Error>();
  const stats = await new Promise<Mocha.Stats>((resolve) => {
    const runner = mocha.run(() => resolve(runner.stats!));
    runner.on('fail', (test, error) => failed.set(test.fullTitle().slice(heading.length + 1), error));
  });
  mocha.dispose();
  return { passed: stats.passes, skipped: stats.pending, failed };
};
