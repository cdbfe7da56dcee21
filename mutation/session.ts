/** The workers of one scope: what its tests pass, and the verdict on a mutant. */
import { type ChildProcess, fork } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Build, Mutant } from './build.js';
import type { Scope } from './scopes.js';
import { NONE } from './switch.js';
import type { Baseline, Order, TestRun, Verdict } from './worker.js';

export type Status =
  /** A test failed. */
  | 'killed'
  /** The tests did not end. */
  | 'timeout'
  | 'survived'
  /** No test passes the place. */
  | 'uncovered';

export interface Outcome {
  readonly status: Status;
  /** The test that noticed. */
  readonly by?: string | undefined;
}

/** How long neither a test nor a hook may end, since what turns in a loop has to be stopped from here. */
const SILENCE_MS = 40_000;
/** The same without a mutation: here even the slowest tests run. */
const MEASURING_SILENCE_MS = 300_000;

type Message = Order | { readonly times: readonly TestRun[] } | 'measure';

class Worker {
  readonly #child: ChildProcess;
  /** Settles when the tests have been loaded. */
  readonly ready: Promise<unknown>;

  /** @param mutant in force from the start, for what happens only then */
  constructor({ folder }: Build, tests: readonly string[], mutant = NONE) {
    this.#child = fork(join(folder, 'mutation/worker.js'), tests, {
      cwd: folder,
      env: { ...process.env, MUTANT: String(mutant) },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.ready = this.#answer(SILENCE_MS);
  }

  /** Undefined when the worker ended, or was ended since nothing was heard of it. */
  ask<Answer>(message: Message): Promise<Answer | undefined> {
    const answer = this.#answer<Answer>(message === 'measure' ? MEASURING_SILENCE_MS : SILENCE_MS);
    this.#child.send(message, () => undefined);
    return answer;
  }

  get alive(): boolean {
    return this.#child.connected;
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  #answer<Answer>(silenceMs: number): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.stop(), silenceMs);
      const settle = (answer: Answer | undefined) => {
        clearTimeout(timer);
        this.#child.off('message', onMessage).off('exit', onExit);
        resolve(answer);
      };
      const onMessage = (message: { answer: Answer } | 'at work') => {
        if (message === 'at work') timer.refresh();
        else settle(message.answer);
      };
      const onExit = () => settle(undefined);
      this.#child.on('message', onMessage).on('exit', onExit);
    });
  }
}

/** The tests that pass a place, and how often they do together. */
interface Passing {
  readonly titles: string[];
  count: number;
}

export class Session {
  readonly #build: Build;
  readonly #files: readonly string[];
  readonly #tests: readonly TestRun[];
  readonly #loaded: ReadonlySet<number>;
  readonly #passing = new Map<number, Passing>();
  #worker: Worker | undefined;

  private constructor(build: Build, files: readonly string[], { tests, loaded }: Baseline) {
    this.#build = build;
    this.#files = files;
    this.#tests = tests;
    this.#loaded = new Set(loaded);
    for (const { title, passed } of tests) {
      for (const [id, count] of passed) {
        const passing = this.#passing.get(id) ?? { titles: [], count: 0 };
        passing.titles.push(title);
        passing.count += count;
        this.#passing.set(id, passing);
      }
    }
  }

  /** Runs all tests of the scope once, without a mutation: those that fail then say nothing about one. */
  static async open(build: Build, scope: Scope): Promise<Session> {
    const files = (await build.tests(scope)).map((file) => join(build.folder, file));
    const baseline = await keptBaseline(build, scope, async () => {
      const worker = new Worker(build, files);
      await worker.ready;
      const measured = await worker.ask<Baseline>('measure');
      worker.stop();
      if (measured === undefined) throw new Error(`The tests of ${scope.name} did not end.`);
      await new Session(build, files, measured).#control();
      return measured;
    });
    for (const failed of baseline.failed) {
      process.stderr.write(`Left out, since it fails without a mutation too: ${failed}\n`);
    }
    return new Session(build, files, baseline);
  }

  async judge({ id }: Mutant): Promise<Outcome> {
    // What is evaluated when a file is loaded can matter to every test, and needs a process of its own.
    if (this.#loaded.has(id)) return this.#inNewWorker(id, id, this.#all(id));
    const passing = this.#passing.get(id);
    if (passing === undefined) return { status: 'uncovered' };
    this.#worker ??= await this.#start();
    const verdict = await this.#ask(this.#worker, id, passing);
    const { alive } = this.#worker;
    // What a failed test has left behind must not be the next mutant's fault.
    if (!alive || verdict?.spoilt) this.close();
    // It may have ended late, from what another mutant did before.
    if (!alive) return this.#inNewWorker(id, NONE, passing);
    return outcomeOf(verdict);
  }

  /** The same questions without a mutation: what a test leaves behind for the next run must not look like one. */
  async #control(): Promise<void> {
    const all = this.#all(NONE);
    const worker = await this.#start();
    try {
      for (let run = 0; run < 2; run++) {
        const { status, by } = outcomeOf(await this.#ask(worker, NONE, all));
        if (status === 'survived') continue;
        throw new Error(`Without a mutation the tests fail as they run again: ${by ?? status}`);
      }
    } finally {
      worker.stop();
    }
  }

  close(): void {
    this.#worker?.stop();
    this.#worker = undefined;
  }

  #all(id: number): Passing {
    return { titles: this.#tests.map(({ title }) => title), count: 1000 + (this.#passing.get(id)?.count ?? 0) };
  }

  async #inNewWorker(id: number, fromStart: number, passing: Passing) {
    const worker = await this.#start(fromStart);
    const outcome = worker.alive ? outcomeOf(await this.#ask(worker, id, passing)) : { status: 'killed' as const };
    worker.stop();
    return outcome;
  }

  async #start(mutant = NONE): Promise<Worker> {
    const worker = new Worker(this.#build, this.#files, mutant);
    await worker.ready;
    if (worker.alive) await worker.ask({ times: this.#tests.map((test) => ({ ...test, passed: [] })) });
    return worker;
  }

  #ask(worker: Worker, id: number, { titles, count }: Passing) {
    return worker.ask<Verdict>({ id, usual: count, titles });
  }
}

/** What was measured by an earlier run of the same build, or now. */
const keptBaseline = async (build: Build, { name }: Scope, measure: () => Promise<Baseline>): Promise<Baseline> => {
  const path = join(dirname(build.folder), `mutation-baseline-${name}.json`);
  const kept = await readFile(path, 'utf8').then(JSON.parse, () => undefined);
  if (kept?.build === build.digest) return kept.baseline;
  const baseline = await measure();
  await writeFile(path, JSON.stringify({ build: build.digest, baseline }));
  return baseline;
};

const outcomeOf = (verdict: Verdict | undefined): Outcome => {
  if (verdict === undefined) return { status: 'timeout' };
  return verdict.killedBy === undefined ? { status: 'survived' } : { status: 'killed', by: verdict.killedBy };
};
