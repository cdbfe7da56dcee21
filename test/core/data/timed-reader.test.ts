import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import type { SnapshotReader } from '../../../core/contracts/plugin.js';
import type { Snapshot } from '../../../core/contracts/storage.js';
import { type CheckedReader, sharedReader, timedReader } from '../../../core/data/checked-snapshot.js';
import { IndexedCollection } from '../../../core/data/indexed-collection.js';
import { indexedSnapshot } from '../../../core/data/indexed-snapshot.js';
import { ApiError, readTimeout, type StorageError } from '../../../core/errors.js';
import { markets } from '../../../plugins/metro/collections.js';
import { documents, manifest } from '../../support/fixture.js';

describe('timedReader(snapshot, collections, ms)', () => {
  const collections = new Map([[markets.name, markets]]);
  let snapshot: Snapshot;
  before(async () => {
    const indexed = await IndexedCollection.of(markets, documents['markets'] ?? []);
    const dataset = { manifest, publishedAt: new Date(), collections: new Map([[markets.name, indexed]]) };
    snapshot = indexedSnapshot(dataset, () => undefined);
  });
  const read = <Result>(ms: number, work: (reader: SnapshotReader) => Promise<Result>) =>
    timedReader(snapshot, collections, ms)(work);
  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => assert.fail('It resolved.'),
      (error: unknown) => error,
    );

  it('resolves with the result of the read', async () => {
    assert.lengthOf(await read(60_000, (reader) => reader.find(markets)), documents['markets']?.length ?? 0);
  });

  it('rejects with readTimeout, and advises to narrow the query, if several quick reads together take too long', async () => {
    let reads = 0;
    const error = await failure(
      read(200, async (reader) => {
        for (;;) {
          await reader.find(markets);
          reads++;
          await delay(5);
        }
      }),
    );
    assert.instanceOf(error, ApiError);
    assert.equal((error as ApiError).kind, readTimeout);
    assert.match((error as ApiError).message, /^Reading the data takes longer than 0\.2 seconds\. .*narrow it/);
    assert.equal(((error as ApiError).options.cause as StorageError).code, 'unavailable');
    assert.isAbove(reads, 1);
  });

  it('allows any number of concurrent reads', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on('warning', warn);
    const waiting = {
      ...snapshot,
      get: (_name: string, _key: unknown, signal?: AbortSignal) =>
        new Promise<undefined>((resolve) => {
          const end = () => resolve(undefined);
          signal?.addEventListener('abort', end);
        }),
    };
    const read = timedReader(waiting, collections, 20);
    await Promise.all(Array.from({ length: 100 }, () => read((reads) => reads.get(markets, ['12060']))));
    await delay(0);
    process.off('warning', warn);
    assert.deepEqual(warnings, []);
  });

  it('bounded() rejects a handler that does not end within 0.75 seconds after the timeout', async () => {
    const late = (ms: number) => new Error(`late after ${ms} ms`);
    const since = performance.now();
    const error = await failure(read(50, (reader) => (reader as CheckedReader).bounded(new Promise(() => {}), late)));
    assert.equal((error as Error).message, 'late after 800 ms');
    assert.isAtLeast(performance.now() - since, 798);
    assert.equal(await read(50, (reader) => (reader as CheckedReader).bounded(Promise.resolve(7), late)), 7);
  });

  it('bounded() does not count the time in which totals wait for other queries', async () => {
    const waiting = {
      ...snapshot,
      totals: async (_name: string, _query: unknown, _signal?: AbortSignal, onWait?: () => () => void) => {
        const resume = onWait!();
        await delay(950);
        resume();
        return [];
      },
    };
    const work = async (reader: CheckedReader) => {
      const groups = await reader.totals(markets, { by: [], where: [], limit: 1 });
      await delay(20);
      return groups;
    };
    const bounded = (reader: CheckedReader) => reader.bounded(work(reader), () => new Error('late'));
    assert.deepEqual(await timedReader(waiting, collections, 40)(bounded), []);
  });

  it('rejects with any other error', async () => {
    const failing = new Error('an error of the handler');
    assert.equal(await failure(read(60_000, () => Promise.reject(failing))), failing);
    const other = { ...markets, name: 'others' };
    const error = await failure(read(60_000, (reader) => reader.find(other)));
    assert.equal((error as StorageError).code, 'unknown_collection');
  });
});

describe('sharedReader(snapshot, collections, ms)', () => {
  const { timeout } = AbortSignal;
  let timers = 0;
  beforeEach(() => {
    timers = 0;
    AbortSignal.timeout = (ms) => {
      timers++;
      return timeout.call(AbortSignal, ms);
    };
  });
  afterEach(() => {
    AbortSignal.timeout = timeout;
  });
  const readers = (ms: number) =>
    sharedReader(
      indexedSnapshot({ manifest, publishedAt: new Date(), collections: new Map() }, () => undefined),
      new Map(),
      ms,
    );

  it('starts one timer for readers that start at about the same time', async () => {
    const next = readers(60_000);
    next();
    await delay(5);
    next();
    assert.equal(timers, 1);
  });

  it('starts another timer after an eighth of the time', async () => {
    const next = readers(1600);
    next();
    const since = performance.now();
    while (timers === 1) {
      next();
      await delay(1);
    }
    const sharedMs = performance.now() - since;
    assert.isAtLeast(sharedMs, 199);
    assert.isBelow(sharedMs, 1200);
  });
});
