/** A process that has loaded the tests of a scope, and runs those it is told to, with the mutation it is told. */
import Mocha from 'mocha';
import { activate, NONE, takePassed } from './switch.js';

/** A test, and how often it passed each place. */
export interface TestRun {
  readonly title: string;
  readonly ms: number;
  readonly passed: readonly (readonly [id: number, count: number])[];
}

/** What all tests do without a mutation. */
export interface Baseline {
  readonly tests: readonly TestRun[];
  /** Places that were passed when the files were loaded. */
  readonly loaded: readonly number[];
  /** Titles of the tests that fail, with the reason. */
  readonly failed: readonly string[];
}

export interface Order {
  readonly id: number;
  /** How often its place is passed by these tests without it. */
  readonly usual: number;
  readonly titles: readonly string[];
}

/** The test that failed, if one did; `spoilt` unless it has then passed without the mutation. */
export interface Verdict {
  readonly killedBy: string | undefined;
  readonly spoilt: boolean;
}

/** Tests up to this come first: most mutations are noticed by one of them. */
const QUICK_MS = 150;
/** Tests above this are not asked: what they alone would notice counts as survived. */
const SLOW_MS = 10_000;

const mocha = new Mocha({ timeout: 20_000, reporter: class {} as never });
mocha.cleanReferencesAfterRun(false);
for (const file of process.argv.slice(2)) mocha.addFile(file);
await mocha.loadFilesAsync();
const loaded = [...takePassed().keys()];

interface Run {
  /** Told of each event that matters, with what was passed since the last one. */
  readonly on?: (event: string, subject: Mocha.Suite | Mocha.Test, passed: ReadonlyMap<number, number>) => void;
  readonly bail: boolean;
}

/** Mocha's own setting reaches only suites that are made after it. */
const setBail = (suite: Mocha.Suite, bail: boolean): void => {
  suite.bail(bail);
  for (const inner of suite.suites) setBail(inner, bail);
};

/** Resolves with what failed, hooks included. */
const run = (wanted: (title: string) => boolean, { on, bail }: Run): Promise<string[]> =>
  new Promise((resolve) => {
    const failed: string[] = [];
    setBail(mocha.suite, bail);
    mocha.grep({ test: wanted } as RegExp);
    const runner = mocha.run(() => resolve(failed));
    runner.on('fail', (test: Mocha.Runnable, error: Error) => failed.push(`${test.fullTitle()}: ${error.message}`));
    for (const event of ['suite', 'test', 'test end', 'suite end']) {
      if (on) runner.on(event, (subject) => on(event, subject, takePassed()));
    }
    for (const event of ['hook end', 'test end']) runner.on(event, () => process.send!('at work'));
  });

/** What hooks pass belongs to every test of their suite. */
const measure = async (): Promise<Baseline> => {
  const suites: Map<number, number>[] = [new Map()];
  const tests: { test: Mocha.Test; passed: Map<number, number>; around: Map<number, number>[] }[] = [];
  const add = (to: Map<number, number>, passed: ReadonlyMap<number, number>) => {
    for (const [id, count] of passed) to.set(id, (to.get(id) ?? 0) + count);
  };
  const failed = await run(() => true, {
    bail: false,
    on: (event, subject, passed) => {
      if (event === 'test end') {
        const test = { test: subject as Mocha.Test, passed: new Map<number, number>(), around: [...suites] };
        add(test.passed, passed);
        tests.push(test);
        return;
      }
      add(suites.at(-1)!, passed);
      if (event === 'suite') suites.push(new Map());
      if (event === 'suite end') suites.pop();
    },
  });
  return {
    failed,
    loaded,
    tests: tests.flatMap(({ test, passed, around }) => {
      if (test.state !== 'passed') return [];
      for (const suite of around) add(passed, suite);
      const ms = test.duration ?? 0;
      if (ms > SLOW_MS) return [];
      return { title: test.fullTitle(), ms, passed: [...passed] };
    }),
  };
};

let quick = new Set<string>();

const limitTimes = ({ tests }: Pick<Baseline, 'tests'>): void => {
  const times = new Map(tests.map(({ title, ms }) => [title, ms]));
  quick = new Set(tests.filter(({ ms }) => ms <= QUICK_MS).map(({ title }) => title));
  const limit = (suite: Mocha.Suite): void => {
    for (const test of suite.tests) test.timeout(5000 + 3 * (times.get(test.fullTitle()) ?? 0));
    suite.suites.forEach(limit);
  };
  limit(mocha.suite);
};

const judge = async ({ id, usual, titles }: Order): Promise<Verdict> => {
  const wanted = new Set(titles);
  activate(id, usual);
  process.env['MUTANT'] = String(id);
  let failed = await run((title) => wanted.has(title) && quick.has(title), { bail: true });
  if (failed.length === 0) failed = await run((title) => wanted.has(title) && !quick.has(title), { bail: true });
  activate(NONE);
  process.env['MUTANT'] = String(NONE);
  const [killedBy] = failed;
  if (killedBy === undefined) return { killedBy, spoilt: false };
  const killer = titles.find((title) => quick.has(title) && killedBy.startsWith(`${title}: `));
  const again = killer === undefined ? ['too slow to ask'] : await run((title) => title === killer, { bail: true });
  return { killedBy, spoilt: again.length > 0 };
};

const answer = async (message: Order | { readonly times: Baseline['tests'] } | 'measure'): Promise<unknown> => {
  if (message === 'measure') return measure();
  if ('times' in message) return limitTimes({ tests: message.times });
  return judge(message);
};

process.on('message', async (message: Parameters<typeof answer>[0]) => {
  process.send!({ answer: (await answer(message)) ?? null });
});
process.send!({ answer: null });
