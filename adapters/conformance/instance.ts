/** Creates adapters for the tests, each with its own context and store, and reads from them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type {
  AdapterContext,
  Collection,
  Dataset,
  Document,
  Scalar,
  Snapshot,
  StorageAdapter,
} from 'metro-forecast-api/adapter';
import { pino } from 'pino';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, sameItems, sameList, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import {
  anotherDataset,
  collections,
  datasetOf,
  items,
  type Rows,
  SECOND,
  SECOND_CREATED,
  THIRD,
  THIRD_CREATED,
} from './fixture.js';

type Collections = ReadonlyMap<string, Collection>;

export interface Opened {
  readonly adapter: StorageAdapter;
  readonly problems: readonly (string | undefined)[];
  /** For each call to `changed()`, the version that `snapshot()` returned during the call, or undefined if it threw. */
  readonly changes: readonly (string | undefined)[];
  /** Functions that `changed()` calls. */
  readonly listeners: (() => void)[];
}

export interface Instance extends Opened {
  readonly folder: string;
  /** The clock of all adapters on this store. Tests can stop it, or set its `offset` in milliseconds. */
  readonly clock: SkewedClock;
  make(): Promise<Opened>;
  /** Opens another adapter on the same store. If the store is exclusive, closes the other adapters first. */
  another(): Promise<Opened>;
  stop(): Promise<void>;
}

export const versionOf = (adapter: StorageAdapter): string => {
  const snapshot = adapter.snapshot();
  snapshot.release();
  return snapshot.version;
};

/** Returns the time when the current version was published or activated, in milliseconds since 1970. */
export const publicationTime = ({ adapter }: Pick<Opened, 'adapter'>): number => {
  const snapshot = adapter.snapshot();
  snapshot.release();
  return snapshot.publishedAt.getTime();
};

export const versionIfAny = (adapter: StorageAdapter): string | undefined => {
  try {
    return versionOf(adapter);
  } catch {
    return undefined;
  }
};

/** Returns the time within which an adapter must notice changes of other adapters, in milliseconds. */
export const followMs = ({ capabilities: { follows } }: AdapterUnderTest): number =>
  typeof follows === 'object' ? follows.withinMs : 5000;

/**
 * Waits until `changed()` has been called for each version. Asserts that `changed()` was called once per version, and
 * that `snapshot()` returned the new version during the call.
 * @param before number of earlier calls to `changed()`
 */
export const changedTo = async (
  target: AdapterUnderTest,
  versions: readonly string[],
  { changes }: Opened,
  before: number,
): Promise<void> => {
  const isCalled = () => changes.length >= before + versions.length;
  await eventually('changed() is called', isCalled, followMs(target)).catch((error) => {
    if (changes.length === before) throw error;
  });
  sameList(changes.slice(before), versions, 'one call of changed() for each version, when snapshot() returns it');
};

type Make = (context: AdapterContext) => StorageAdapter | Promise<StorageAdapter>;

export class SkewedClock {
  offset = 0;
  /** If set, the clock does not move. */
  stoppedAt: number | undefined;
  now(): number {
    return this.stoppedAt ?? Date.now() + this.offset;
  }
  monotonic(): number {
    return performance.now();
  }
}

export const makeIn = async (
  folder: string,
  collections: Collections,
  make: Make,
  clock = new SkewedClock(),
): Promise<Opened> => {
  const changes: (string | undefined)[] = [];
  const problems: (string | undefined)[] = [];
  const listeners: (() => void)[] = [];
  let adapter: StorageAdapter | undefined;
  const context: AdapterContext = {
    collections,
    logger: pino({ level: 'silent' }),
    clock,
    resolvePath: (path) => resolve(folder, path),
    // An adapter may call `changed()` before `create` has returned the adapter.
    changed() {
      if (!adapter) return;
      changes.push(versionIfAny(adapter));
      for (const listener of listeners) listener();
    },
    problem: (sentence) => problems.push(sentence),
  };
  adapter = await make(context);
  return { adapter, changes, problems, listeners };
};

const start = async (target: AdapterUnderTest, collections: Collections, make: Make): Promise<Instance> => {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const opened: Opened[] = [];
  const clock = new SkewedClock();
  const add = async (how: Make): Promise<Opened> => {
    const made = await makeIn(folder, collections, how, clock);
    opened.push(made);
    return made;
  };
  try {
    const first = await add(make);
    return {
      ...first,
      folder,
      clock,
      make: () => add((context) => target.createEmpty!(context)),
      async another() {
        if (target.capabilities.exclusive) for (const { adapter } of opened) await adapter.close();
        const other = await add((context) => target.createEmpty!(context));
        await other.adapter.open();
        return other;
      },
      async stop() {
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

export const startInstance = (
  target: AdapterUnderTest,
  dataset: Dataset = datasetOf(),
  of: Collections = collections,
): Promise<Instance> => start(target, of, (context) => target.create(dataset, context));

/** The caller must stop the instance. */
export const startEmpty = (target: AdapterUnderTest, of: Collections = collections): Promise<Instance> =>
  start(target, of, (context) => target.createEmpty!(context));

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

export const versionAsOf = async (
  { adapter }: Pick<Opened, 'adapter'>,
  time: string | number,
): Promise<string | undefined> => {
  const snapshot = await adapter.versions!.asOf(new Date(time));
  snapshot?.release();
  return snapshot?.version;
};

export const listOf = async ({ adapter }: Pick<Opened, 'adapter'>) =>
  (await adapter.versions!.list()).map(({ version, publishedAt, current }) => ({ version, publishedAt, current }));

export const namesOf = async (opened: Pick<Opened, 'adapter'>): Promise<string[]> =>
  (await listOf(opened)).map(({ version }) => version);

export const about = ({ version, publishedAt, manifest }: Snapshot) => ({ version, publishedAt, manifest });

export const hasVersion = ({ adapter }: Pick<Instance, 'adapter'>, version: string): void =>
  sameValue(versionOf(adapter), version, 'the version of snapshot()');

export const readsItems = async (snapshot: Snapshot, expected: readonly Document[]): Promise<void> => {
  sameItems(await find(snapshot, items), expected);
  for (const id of ['i01', 'i02', 'i99']) {
    const item = expected.find((each) => each['id'] === id);
    sameValue((await snapshot.get('items', [id])) ?? undefined, item, `get("items", ["${id}"]) to read one version`);
    if (!snapshot.getJson) continue;
    const json = await snapshot.getJson('items', [id]);
    sameValue(json && JSON.parse(json), item, `getJson("items", ["${id}"]) to read one version`);
  }
  if (snapshot.findJson) sameItems(await findJson(snapshot, items), expected);
  const counted = await snapshot.totals?.('items', { where: [], by: ['label'], limit: 100 });
  if (!counted) return;
  const labels = counted.flatMap(({ values, count }) => Array<unknown>(count).fill(values[0]));
  sameList(labels.sort(), expected.map(({ label }) => label).sort(), 'totals() to count the items of one version');
};

export const readsRows = async (snapshot: Snapshot, content: Rows, what: string): Promise<void> => {
  for (const collection of collections.values()) {
    const { name, key } = collection;
    const expected = content[name] ?? [];
    const rule = `the rows of "${name}" in ${what}`;
    sameList(await find(snapshot, collection), expected, rule);
    const [total] = (await snapshot.totals?.(name, { where: [], by: [], limit: 1 })) ?? [];
    if (total) sameValue(total.count, expected.length, `the count of totals() for ${rule}`);
    for (const document of expected.slice(10, 13)) {
      const values = key.map((field) => document[field] as Scalar);
      sameValue(await snapshot.get(name, values), document, rule);
    }
  }
};

export const hasRows = (opened: Pick<Instance, 'adapter'>, content: Rows, what: string): Promise<void> =>
  withSnapshot(opened, (snapshot) => readsRows(snapshot, content, what));

export const hasItems = (instance: Pick<Instance, 'adapter'>, expected: readonly Document[]): Promise<void> =>
  withSnapshot(instance, (snapshot) => readsItems(snapshot, expected));

export const isCurrent = (
  target: AdapterUnderTest,
  { adapter }: Pick<Instance, 'adapter'>,
  version: string,
): Promise<void> =>
  eventually(`snapshot() returns ${version}`, () => versionIfAny(adapter) === version, followMs(target));

export const publishTwo = async ({ adapter }: Pick<Instance, 'adapter'>): Promise<void> => {
  await adapter.publish!(anotherDataset(SECOND, SECOND_CREATED));
  await adapter.publish!(anotherDataset(THIRD, THIRD_CREATED));
};

/**
 * Calls `prune(keep)` until it has deleted `count` versions, because an adapter may keep a version for some time after
 * another adapter has released it. Returns the deleted versions in alphabetical order.
 */
export const pruned = async (
  target: AdapterUnderTest,
  { adapter }: Pick<Instance, 'adapter'>,
  keep: number,
  count: number,
): Promise<string[]> => {
  const deleted = new Set<string>();
  const isDone = async () => {
    for (const version of await adapter.versions!.prune(keep)) deleted.add(version);
    return deleted.size >= count;
  };
  await eventually(`prune(${keep}) deletes ${count} of the versions`, isDone, followMs(target));
  return [...deleted].sort();
};

export const beginToPublish = async (adapter: StorageAdapter, dataset = anotherDataset(), signal?: AbortSignal) => {
  let resume = (): void => {};
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  let publication: Promise<void> | undefined;
  await new Promise<void>((begun, failed) => {
    const read = async function* (collection: string) {
      yield* dataset.read(collection);
      begun();
      await resumed;
    };
    publication = adapter.publish!({ ...dataset, read }, signal && { signal });
    publication.then(() => failed(new Error('publish() resolved before it had read a collection')), failed);
  });
  return { publication: publication!, resume };
};

export const makeCurrent = async (
  target: AdapterUnderTest,
  { adapter }: Pick<Instance, 'adapter'>,
  dataset: Dataset,
): Promise<void> => {
  if (target.capabilities.publish) return adapter.publish!(dataset);
  await target.replace!(adapter, dataset);
  return isCurrent(target, { adapter }, dataset.manifest.version);
};
