/** Runs the conformance suite inside of a test, and tells which of its rules are broken. */
import { fileURLToPath } from 'node:url';
import Mocha from 'mocha';
import { type AdapterUnderTest, describeAdapter } from '../../../adapters/conformance/index.js';

const GLOBALS = ['describe', 'it', 'before', 'after', 'beforeEach', 'afterEach', 'context', 'specify', 'run'] as const;
/** What the suite's other process imports for the same adapter. */
const FILE = fileURLToPath(new URL('./broken-targets.js', import.meta.url));

export interface Outcome {
  readonly passed: number;
  readonly skipped: number;
  /** Titles of the tests that failed, without the adapter's heading, each with its error. */
  readonly failed: ReadonlyMap<string, Error>;
}

/** @param rules the titles of the tests to run, without the adapter's heading; all by default */
export const runSuite = async (target: AdapterUnderTest, rules?: readonly string[]): Promise<Outcome> => {
  const mocha = new Mocha({ reporter: Mocha.reporters.Base, timeout: 20_000 });
  const scope = globalThis as Record<string, unknown>;
  const outer = Object.fromEntries(GLOBALS.map((name) => [name, scope[name]]));
  // As mocha does before it loads a file: from here on `describe` and `it` add to this instance.
  mocha.suite.emit('pre-require', globalThis as never, FILE, mocha);
  try {
    describeAdapter(target);
  } finally {
    Object.assign(scope, outer);
  }

  const heading = mocha.suite.suites[0]!.fullTitle();
  if (rules) {
    const titles = rules.map((rule) => `${heading} ${rule}`.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    mocha.grep(new RegExp(`^(?:${titles.join('|')})$`));
  }
  const failed = new Map<string, Error>();
  const stats = await new Promise<Mocha.Stats>((resolve) => {
    const runner = mocha.run(() => resolve(runner.stats!));
    runner.on('fail', (test, error) => failed.set(test.fullTitle().slice(heading.length + 1), error));
  });
  mocha.dispose();
  return { passed: stats.passes, skipped: stats.pending, failed };
};
