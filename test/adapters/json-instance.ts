import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pino } from 'pino';
import json from '../../adapters/json/index.js';
import type { Collection, Document } from '../../core/contracts/dataset.js';
import { systemClock } from '../../core/contracts/runtime.js';
import type { AdapterContext, Snapshot, StorageAdapter } from '../../core/contracts/storage.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { until } from '../support/until.js';
import { collections, manifestOf, rowsOf } from '../support/weather.js';

export interface JsonInstance {
  /** Temporary folder that contains the dataset directory `data`. */
  readonly folder: string;
  readonly path: string;
  readonly adapter: StorageAdapter;
  readonly changes: string[];
  /** Messages passed to `problem()`. Undefined means that the adapter has recovered. */
  readonly problems: (string | undefined)[];
  readonly log: { readonly level: number; readonly msg: string; readonly err?: { readonly message: string } }[];
}

export const contextOf = (folder: string, declared: ReadonlyMap<string, Collection>): AdapterContext => ({
  collections: declared,
  logger: pino({ level: 'silent' }),
  clock: systemClock,
  resolvePath: (path) => join(folder, path),
  changed: () => {},
  problem: () => {},
});

/** Creates an adapter before each test of the enclosing `describe`, and closes it afterwards. The test must open it. */
export const eachInstance = (): JsonInstance => {
  const instance: { -readonly [K in keyof JsonInstance]: JsonInstance[K] } = Object.create(null);
  beforeEach(async () => {
    instance.folder = await mkdtemp(join(tmpdir(), 'json-adapter-'));
    instance.path = join(instance.folder, 'data');
    instance.changes = [];
    instance.problems = [];
    instance.log = [];
    const { folder, changes, problems, log } = instance;
    instance.adapter = json.create(
      { path: 'data', pollMs: 10 },
      {
        ...contextOf(folder, collections),
        logger: pino({}, { write: (line) => void log.push(JSON.parse(line)) }),
        changed: () => changes.push(versionOf(instance)),
        problem: (sentence) => problems.push(sentence),
      },
    );
  });
  afterEach(async () => {
    await instance.adapter.close();
    await rm(instance.folder, { recursive: true, force: true });
  });
  return instance;
};

export const writeVersion = (path: string, n: number, created = `2026-01-${String(n).padStart(2, '0')}T00:00:00Z`) => {
  const { stations, readings } = rowsOf(n);
  return writeDirectory(path, manifestOf(`v${n}`, created), { stations: [stations], readings: [readings] });
};

export const withSnapshot = async <T>(
  { adapter }: Pick<JsonInstance, 'adapter'>,
  use: (snapshot: Snapshot) => T | Promise<T>,
): Promise<T> => {
  const snapshot = adapter.snapshot();
  try {
    return await use(snapshot);
  } finally {
    snapshot.release();
  }
};

export const readAll = async (snapshot: Snapshot, collection: string): Promise<Document[]> => {
  const all: Document[] = [];
  const order = collections.get(collection)?.key as readonly string[];
  for await (const batch of snapshot.find(collection, { order })) all.push(...batch);
  return all;
};

const versionOf = ({ adapter }: Pick<JsonInstance, 'adapter'>): string => {
  const snapshot = adapter.snapshot();
  snapshot.release();
  return snapshot.version;
};

export const expectServed = (instance: JsonInstance, n: number): Promise<void> =>
  withSnapshot(instance, async (snapshot) => {
    expect(snapshot.version).to.equal(`v${n}`);
    for (const name of ['stations', 'readings'] as const) {
      expect(await readAll(snapshot, name)).to.deep.equal(rowsOf(n)[name]);
    }
  });

export const eventuallyServed = async (instance: JsonInstance, n: number): Promise<void> => {
  await until(() => versionOf(instance) === `v${n}`, { withinMs: 20_000 });
  await expectServed(instance, n);
};

export const eventuallyRejected = async (instance: JsonInstance): Promise<string> => {
  const errors = () => instance.log.filter(({ level }) => level === 50);
  const before = errors().length;
  await until(() => errors().length > before, { withinMs: 20_000 });
  return errors().at(-1)?.err?.message ?? '';
};
