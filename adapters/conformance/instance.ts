/** Adapters under test, each with a context and a store of its own, and the ways to ask them. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type {
  AdapterContext,
  Collection,
  Dataset,
  Document,
  Query,
  Snapshot,
  StorageAdapter,
} from 'metro-forecast-api/adapter';
import { pino } from 'pino';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, sameItems, sameList, sameValue } from './expect.js';
import { collections, datasetOf, items } from './fixture.js';

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

/** The version of the current snapshot. */
export const versionOf = (adapter: StorageAdapter): string => {
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
    clock: { now: Date.now, monotonic: () => performance.now() },
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

type Test = (instance: Instance, running: Mocha.Context) => Promise<void>;

/** The function of a test that has an instance of its own. */
const over = (begin: () => Promise<Instance>, test: Test) =>
  async function (this: Mocha.Context) {
    const instance = await begin();
    try {
      await test(instance, this);
    } finally {
      await instance.stop();
    }
  };

/** Why a test is skipped; false where it is not. */
export type Obstacle = string | false;

/** A test, or a skipped one whose title says why. */
export const itUnless = (obstacle: Obstacle, title: string, test: Mocha.AsyncFunc): void => {
  if (obstacle) it.skip(`${title} (skipped: ${obstacle})`);
  else it(title, test);
};

/** Defines tests that have an instance of their own each; all of them are skipped where there is an obstacle. */
export const testsOver =
  (target: AdapterUnderTest, obstacle: Obstacle = false, dataset = () => datasetOf()) =>
  (title: string, test: Test): void =>
    itUnless(
      obstacle,
      title,
      over(() => startInstance(target, dataset()), test),
    );

/** The same for tests of adapters that have no dataset and are not open. */
export const testsOfEmpty =
  (target: AdapterUnderTest, obstacle: Obstacle = false) =>
  (title: string, test: Test): void =>
    itUnless(
      obstacle || withoutEmpty(target),
      title,
      over(() => start(target, collections, (context) => target.createEmpty!(context)), test),
    );

/**
 * The same for tests of several adapters over one store. One is skipped once it has begun where the adapter declares
 * nothing about being durable and keeps nothing in its folder: then nobody can tell whether another adapter is over the
 * same store.
 */
export const testsOverStore =
  (target: AdapterUnderTest) =>
  (obstacle: Obstacle, title: string, test: (instance: Instance) => Promise<void>): void =>
    testsOver(target, obstacle)(title, async (instance, running) => {
      if (target.capabilities.durable === undefined && (await readdir(instance.folder)).length === 0) {
        running.runnable().title += ' (skipped: the adapter does not declare "durable", and its folder is empty)';
        running.skip();
      }
      await test(instance);
    });

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

/** All that an iterator still gives. */
export const restOf = async (batches: AsyncIterator<readonly Document[]>): Promise<Document[]> => {
  const rest: Document[] = [];
  for await (const batch of { [Symbol.asyncIterator]: () => batches }) rest.push(...batch);
  return rest;
};

/** The version that was current at a time; undefined where none was. */
export const versionAsOf = async ({ adapter }: Opened, time: string | number): Promise<string | undefined> => {
  const snapshot = await adapter.versions!.asOf(new Date(time));
  snapshot?.release();
  return snapshot?.version;
};

/** What `list()` tells of each version. */
export const listOf = async ({ adapter }: Opened) =>
  (await adapter.versions!.list()).map(({ version, publishedAt, current }) => ({ version, publishedAt, current }));

/** What a snapshot tells of its dataset. */
export const about = ({ version, publishedAt, manifest }: Snapshot) => ({ version, publishedAt, manifest });

/** Asserts that this version is current. */
export const hasVersion = ({ adapter }: Pick<Instance, 'adapter'>, version: string): void =>
  sameValue(versionOf(adapter), version, 'the version of snapshot()');

/** Asserts that the current version has these items. */
export const hasItems = (instance: Pick<Instance, 'adapter'>, expected: readonly Document[]): Promise<void> =>
  withSnapshot(instance, async (snapshot) => sameItems(await find(snapshot, items), expected));

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

/** The obstacle where the adapter does not declare a capability. */
export const without = ({ capabilities }: AdapterUnderTest, capability: 'publish' | 'versions' | 'audit'): Obstacle =>
  !capabilities[capability] && `the adapter does not declare the capability "${capability}"`;

/** The obstacle where the author gave no way to make an adapter over an empty store. */
const withoutEmpty = ({ createEmpty }: AdapterUnderTest): Obstacle =>
  !createEmpty && 'the author gave no createEmpty()';

/** The obstacle where `makeCurrent` is not possible. */
export const cannotChange = ({ capabilities, replace }: AdapterUnderTest): Obstacle =>
  !capabilities.publish && !replace && 'the adapter does not publish, and its author gave no replace()';

/** The obstacle where there can be no other adapter over the same store. */
export const standsAlone = (target: AdapterUnderTest): Obstacle =>
  (target.capabilities.durable === false && 'the adapter declares that it is not durable') || withoutEmpty(target);

/** The obstacle where another adapter does not notice what this one publishes. */
export const isUnnoticed = (target: AdapterUnderTest): Obstacle =>
  target.capabilities.follows === false && 'the adapter declares that it does not follow';
