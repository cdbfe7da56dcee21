import { fileURLToPath } from 'node:url';
import Mocha from 'mocha';
import { type AdapterUnderTest, describeAdapter } from '../../../adapters/conformance/index.js';

const GLOBALS = ['describe', 'it', 'before', 'after', 'beforeEach', 'afterEach', 'context', 'specify', 'run'] as const;
/** The second process of the conformance suite imports this file to create the adapter under test. */
const FILE = fileURLToPath(new URL('./broken-targets.js', import.meta.url));

export interface Outcome {
  readonly passed: number;
  readonly skipped: readonly string[];
  /** Errors of failed tests, by title. Titles do not include the title of the outermost `describe`. */
  readonly failed: ReadonlyMap<string, Error>;
}

/** @param rules titles of the tests to run, without the title of the outermost `describe`. Default: all tests */
export const runSuite = async (target: AdapterUnderTest, rules?: readonly string[]): Promise<Outcome> => {
  const mocha = new Mocha({ reporter: Mocha.reporters.Base, timeout: 20_000 });
  const scope = globalThis as Record<string, unknown>;
  const outer = Object.fromEntries(GLOBALS.map((name) => [name, scope[name]]));
  // Mocha emits this event before it loads a file. `describe` and `it` then add tests to this instance.
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
  const skipped: string[] = [];
  const stats = await new Promise<Mocha.Stats>((resolve) => {
    const runner = mocha.run(() => resolve(runner.stats!));
    runner.on('pending', (test) => skipped.push(test.fullTitle()));
    runner.on('fail', (test, error) => failed.set(test.fullTitle().slice(heading.length + 1), error));
  });
  mocha.dispose();
  return { passed: stats.passes, skipped, failed };
};
