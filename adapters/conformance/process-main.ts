/**
 * Runs the other process of the suite. It imports the test file, takes the adapter from
 * `describeAdapter` instead of defining tests, and runs the commands that it receives as messages.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Snapshot, type StorageAdapter, StorageError } from 'metro-forecast-api/adapter';
import { type AdapterUnderTest, targets } from './adapter-under-test.js';
import type { Commands, Request, Response } from './commands.js';
import { find } from './find-rows.js';
import { anotherDataset, collections, datasetOf, items, largeRows } from './fixture.js';
import { about, beginToPublish, makeIn, type Opened } from './instance.js';
import { readsContent } from './model-checks.js';

const [file = '', name = ''] = process.argv.slice(2);

/** A proxy that returns itself for every call and every property. */
const anything: unknown = new Proxy(() => {}, { get: () => anything, apply: () => anything });

/** Replaces the globals of mocha, so that importing a test file runs no tests. */
const suites = Object.assign((_title: string, body?: (this: unknown) => void) => body?.call(anything), {
  skip: anything,
  only: (_title: string, body?: (this: unknown) => void) => body?.call(anything),
});
const hooks = ['it', 'specify', 'before', 'after', 'beforeEach', 'afterEach'];
Object.assign(globalThis, {
  describe: suites,
  context: suites,
  ...Object.fromEntries(hooks.map((each) => [each, anything])),
});

let opened: Opened | undefined;

const targetOf = async (): Promise<AdapterUnderTest> => {
  const found: AdapterUnderTest[] = [];
  targets.take = (target) => void found.push(target);
  await import(pathToFileURL(file).href);
  const target = found.find((each) => each.name === name);
  if (!target) throw new Error(`${file} calls describeAdapter() for no adapter named "${name}"`);
  return target;
};

/** Resumes the publication started by `beginToPublish`. */
let resume = (): void => {};
let before: readonly string[] = [];

/** Returns the resources that were opened since the process started and that keep it running. */
const remaining = (): string[] => {
  const left = process.getActiveResourcesInfo();
  for (const name of before) if (left.includes(name)) left.splice(left.indexOf(name), 1);
  return left;
};

/** Waits up to two seconds for resources to be closed, and returns the remaining ones. */
const left = async (): Promise<readonly string[]> => {
  for (let i = 0; i < 100 && remaining().length > 0; i++) await delay(20, undefined, { ref: false });
  return remaining();
};

const described = async (snapshot: Snapshot) => {
  try {
    return { ...about(snapshot), items: await find(snapshot, items) };
  } finally {
    snapshot.release();
  }
};

const replaceAdapter = async (folder: string): Promise<StorageAdapter> => {
  await opened?.adapter.close();
  const { createEmpty } = await target;
  before = process.getActiveResourcesInfo();
  opened = await makeIn(folder, collections, createEmpty!);
  return opened.adapter;
};

/**
 * Takes a snapshot and never releases it. The version must be unlocked when the adapter is closed or the process is
 * killed.
 */
const takeSnapshot = (adapter: StorageAdapter): void => {
  try {
    adapter.snapshot();
  } catch (error) {
    // The store may be empty.
    if ((error as StorageError).code !== 'unavailable') throw error;
  }
};

const commands: Commands = {
  async open(folder) {
    const adapter = await replaceAdapter(folder);
    await Promise.all([adapter.open(), adapter.open()]);
  },
  async openBriefly(folder) {
    const adapter = await replaceAdapter(folder);
    const opening = Promise.allSettled([adapter.open()]);
    await adapter.close();
    await opening;
    return left();
  },
  publish: (version, created) => opened!.adapter.publish!(anotherDataset(version, created)),
  publishLarge: (version, created) => opened!.adapter.publish!(datasetOf(version, created, largeRows())),
  async beginToPublish(version, created) {
    takeSnapshot(opened!.adapter);
    ({ resume } = await beginToPublish(opened!.adapter, anotherDataset(version, created)));
  },
  activate: (version) => opened!.adapter.versions!.activate(version),
  prune: (keep) => opened!.adapter.versions!.prune(keep),
  list: () => opened!.adapter.versions!.list(),
  async asOf(time) {
    const snapshot = await opened!.adapter.versions!.asOf(new Date(time));
    return snapshot && described(snapshot);
  },
  async read() {
    await opened!.adapter.ping();
    return described(opened!.adapter.snapshot());
  },
  async compare(content, seed, time) {
    const { adapter } = opened!;
    const snapshot = time === undefined ? adapter.snapshot() : await adapter.versions!.asOf(new Date(time));
    try {
      await readsContent(snapshot!, content, 'the other process', seed);
    } finally {
      snapshot?.release();
    }
  },
  close: async () => opened?.adapter.close(),
  async leave() {
    const closing = opened!.adapter.close();
    resume();
    await closing;
    return left();
  },
};

const target = targetOf();
// Without a `catch` handler, a rejection would crash the process. A command that awaits the promise reports the error.
target.catch(() => {});

process.on('message', async ({ id, command, given }: Request) => {
  try {
    const result = await (commands[command] as (...given: readonly unknown[]) => Promise<unknown>)(...given);
    process.send!({ id, result } satisfies Response);
  } catch (error) {
    const code = error instanceof StorageError ? error.code : undefined;
    process.send!({ id, error: String((error as Error).stack ?? error), ...(code && { code }) } satisfies Response);
  }
});
process.once('disconnect', () => process.exit());
