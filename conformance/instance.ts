/** One adapter under test with a context and a folder of its own, and the ways to ask it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import type { Collection, Document } from '../core/contracts/dataset.js';
import { systemClock } from '../core/contracts/runtime.js';
import type { AdapterContext, Dataset, Query, Snapshot, StorageAdapter } from '../core/contracts/storage.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually } from './expect.js';
import { collections, datasetOf } from './fixture.js';

export interface Instance {
  readonly adapter: StorageAdapter;
  /** The version that `snapshot()` answered with at each call of `changed()`, where it did. */
  readonly changes: readonly (string | undefined)[];
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

type Make = (context: AdapterContext) => StorageAdapter | Promise<StorageAdapter>;

const start = async (target: AdapterUnderTest, make: Make): Promise<Instance> => {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    return await startIn(folder, target, make);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
};

const startIn = async (folder: string, { cleanup }: AdapterUnderTest, make: Make): Promise<Instance> => {
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
  const made = await make(context);
  adapter = made;
  return {
    adapter: made,
    changes,
    async stop() {
      // What close() does wrong is found by its own tests.
      await made.close().catch(() => {});
      await cleanup?.(made);
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** An instance with this dataset. The caller stops it. */
export const startInstance = (target: AdapterUnderTest, dataset: Dataset = datasetOf()): Promise<Instance> =>
  start(target, (context) => target.create(dataset, context));

const running = async (instance: Promise<Instance>, test: (instance: Instance) => Promise<void>): Promise<void> => {
  const started = await instance;
  try {
    await test(started);
  } finally {
    await started.stop();
  }
};

/** A test with an instance of its own. */
export const withInstance = (target: AdapterUnderTest, test: (instance: Instance) => Promise<void>) => () =>
  running(startInstance(target), test);

/** A test with an instance of its own that has no dataset and is not open. */
export const withEmptyInstance = (target: AdapterUnderTest, test: (instance: Instance) => Promise<void>) => () =>
  running(
    start(target, (context) => target.createEmpty!(context)),
    test,
  );

/** A test, or a skipped one whose title says why. */
export const itUnless = (obstacle: string | false, title: string, test: () => Promise<void>): void => {
  if (obstacle) it.skip(`${title} (skipped: ${obstacle})`);
  else it(title, test);
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

/** Makes `dataset` current, by publication or by replacement. */
export const makeCurrent = async (
  target: AdapterUnderTest,
  { adapter }: Pick<Instance, 'adapter'>,
  dataset: Dataset,
): Promise<void> => {
  if (target.capabilities.publish) return adapter.publish!(dataset);
  await target.replace!(adapter, dataset);
  const { version } = dataset.manifest;
  return eventually(`snapshot() answers with ${version}`, () => versionOf(adapter) === version, 10_000);
};

/** Why `makeCurrent` is not possible; false where it is. */
export const cannotChange = ({ capabilities, replace }: AdapterUnderTest): string | false =>
  !capabilities.publish && !replace && 'the adapter does not publish, and its author gave no replace()';

export const currentVersion = ({ adapter }: Pick<Instance, 'adapter'>): string => versionOf(adapter);
