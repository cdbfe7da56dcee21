/** Adapters under test, each with a context and a store of its own, and the ways to ask them. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import type { Collection, Document } from '../core/contracts/dataset.js';
import { systemClock } from '../core/contracts/runtime.js';
import type { AdapterContext, Dataset, Query, Snapshot, StorageAdapter } from '../core/contracts/storage.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, sameList } from './expect.js';
import { collections, datasetOf } from './fixture.js';

type Collections = ReadonlyMap<string, Collection>;

/** An adapter, and what it has told. */
export interface Opened {
  readonly adapter: StorageAdapter;
  /** The version that `snapshot()` answered with at each call of `changed()`, where it did. */
  readonly changes: readonly (string | undefined)[];
}

export interface Instance extends Opened {
  /** The store: what the paths of a context are relative to. */
  readonly folder: string;
  /** Another adapter over the same store, opened. */
  another(): Promise<Opened>;
  /** Closes every adapter and removes the store. */
  stop(): Promise<void>;
}

const versionOf = (adapter: StorageAdapter): string => {
  const snapshot = adapter.snapshot();
  snapshot.release();
  return snapshot.version;
};

const versionIfAny = (adapter: StorageAdapter): string | undefined => {
  try {
    return versionOf(adapter);
  } catch {
    return undefined;
  }
};

/** Waits until `changed()` has been called again, and that with this version. `before` counts the calls until then. */
export const changedTo = async (version: string, { changes }: Opened, before: number): Promise<void> => {
  await eventually('changed() is called', () => changes.length > before, 2000);
  const seen = new Set(changes.slice(before));
  sameList([...seen], [version], 'changed() to be called once snapshot() has the other version');
};

type Make = (context: AdapterContext) => StorageAdapter | Promise<StorageAdapter>;

/** An adapter whose paths are relative to `folder`. */
export const makeIn = async (folder: string, collections: Collections, make: Make): Promise<Opened> => {
  const changes: (string | undefined)[] = [];
  let adapter: StorageAdapter | undefined;
  const context: AdapterContext = {
    collections,
    logger: pino({ level: 'silent' }),
    clock: systemClock,
    resolvePath: (path) => resolve(folder, path),
    // The first snapshot may be announced before the factory has answered with the adapter.
    changed: () => adapter && changes.push(versionIfAny(adapter)),
    problem: () => {},
  };
  adapter = await make(context);
  return { adapter, changes };
};

const start = async (target: AdapterUnderTest, collections: Collections, make: Make): Promise<Instance> => {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const opened: Opened[] = [];
  const add = async (how: Make): Promise<Opened> => {
    const made = await makeIn(folder, collections, how);
    opened.push(made);
    return made;
  };
  try {
    const first = await add(make);
    return {
      ...first,
      folder,
      async another() {
        const other = await add((context) => target.createEmpty!(context));
        await other.adapter.open();
        return other;
      },
      async stop() {
        // What close() does wrong is found by its own tests.
        for (const { adapter } of opened) await adapter.close().catch(() => {});
        await target.cleanup?.(first.adapter);
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
};

/** An instance with this dataset. The caller stops it. */
export const startInstance = (
  target: AdapterUnderTest,
  dataset: Dataset = datasetOf(),
  of: Collections = collections,
): Promise<Instance> => start(target, of, (context) => target.create(dataset, context));

const running = async (
  instance: Promise<Instance>,
  test: (instance: Instance, running: Mocha.Context) => Promise<void>,
  context: Mocha.Context,
): Promise<void> => {
  const started = await instance;
  try {
    await test(started, context);
  } finally {
    await started.stop();
  }
};

type Test = (instance: Instance, running: Mocha.Context) => Promise<void>;

/** A test with an instance of its own. */
export const withInstance = (target: AdapterUnderTest, test: Test) =>
  function (this: Mocha.Context) {
    return running(startInstance(target), test, this);
  };

/** A test with an instance of its own that has no dataset and is not open. */
export const withEmptyInstance = (target: AdapterUnderTest, test: Test) =>
  function (this: Mocha.Context) {
    return running(
      start(target, collections, (context) => target.createEmpty!(context)),
      test,
      this,
    );
  };

/** A test, or a skipped one whose title says why. */
export const itUnless = (obstacle: string | false, title: string, test: Mocha.AsyncFunc): void => {
  if (obstacle) it.skip(`${title} (skipped: ${obstacle})`);
  else it(title, test);
};

/** Skips a test that has begun, with the reason in its title. */
export const skip = (context: Mocha.Context, reason: string): never => {
  context.runnable().title += ` (skipped: ${reason})`;
  return context.skip();
};

/** All documents of a query; its order is the collection's key unless given. */
export const find = async (
  snapshot: Snapshot,
  { name, key }: Collection,
  query: Partial<Query> = {},
  signal?: AbortSignal,
): Promise<Document[]> => {
  const found: Document[] = [];
  for await (const batch of snapshot.find(name, { order: key, ...query }, signal)) found.push(...batch);
  return found;
};

/** What `use` makes of the current snapshot, which is held meanwhile. */
export const withSnapshot = async <T>(
  { adapter }: Pick<Instance, 'adapter'>,
  use: (snapshot: Snapshot) => Promise<T>,
): Promise<T> => {
  const snapshot = adapter.snapshot();
  try {
    return await use(snapshot);
  } finally {
    snapshot.release();
  }
};

/** How long a change of the store may take to be noticed. */
export const FOLLOW_MS = 5000;

/** Resolves once this version is the current one. */
export const isCurrent = ({ adapter }: Pick<Instance, 'adapter'>, version: string): Promise<void> =>
  eventually(`snapshot() answers with ${version}`, () => versionIfAny(adapter) === version, FOLLOW_MS);

/** Makes `dataset` current, by publication or by replacement. */
export const makeCurrent = async (
  target: AdapterUnderTest,
  { adapter }: Pick<Instance, 'adapter'>,
  dataset: Dataset,
): Promise<void> => {
  if (target.capabilities.publish) return adapter.publish!(dataset);
  await target.replace!(adapter, dataset);
  return isCurrent({ adapter }, dataset.manifest.version);
};

/** Why `makeCurrent` is not possible; false where it is. */
export const cannotChange = ({ capabilities, replace }: AdapterUnderTest): string | false =>
  !capabilities.publish && !replace && 'the adapter does not publish, and its author gave no replace()';

/** Why there can be no other adapter over the same store; false where there can. */
export const standsAlone = ({ capabilities, createEmpty }: AdapterUnderTest): string | false =>
  (capabilities.durable === false && 'the adapter declares that it is not durable') ||
  (!createEmpty && 'the author gave no createEmpty()');

/**
 * Skips a test of other adapters over the same store where the adapter declares nothing about being durable and keeps
 * nothing in its folder: then nobody can tell whether another adapter is over the same store.
 */
export const needsStore = async (
  target: AdapterUnderTest,
  { folder }: Instance,
  context: Mocha.Context,
): Promise<void> => {
  if (target.capabilities.durable !== undefined || (await readdir(folder)).length > 0) return;
  skip(context, 'the adapter does not declare "durable", and its folder is empty');
};

export const currentVersion = ({ adapter }: Pick<Instance, 'adapter'>): string => versionOf(adapter);
