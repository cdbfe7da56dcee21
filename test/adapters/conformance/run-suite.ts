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

interface Selection {
  /** Titles of the tests to run, without the title of the outermost `describe`. */
  readonly rules?: readonly string[];
  /** If true, the other tests of their groups run too. A group is a `describe` below the outermost one. */
  readonly groups?: boolean;
}

const includes = (suite: Mocha.Suite, titles: readonly string[]): boolean =>
  suite.tests.some((test) => titles.includes(test.fullTitle())) || suite.suites.some((each) => includes(each, titles));

/** Runs all tests unless `rules` selects some of them. */
export const runSuite = async (target: AdapterUnderTest, { rules, groups }: Selection = {}): Promise<Outcome> => {
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

  const [whole] = mocha.suite.suites;
  const heading = whole!.fullTitle();
  if (rules && groups) {
    const titles = rules.map((rule) => `${heading} ${rule}`);
    whole!.suites = whole!.suites.filter((suite) => includes(suite, titles));
  } else if (rules) {
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
