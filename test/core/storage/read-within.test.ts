/** One answer's reads within one span of time. */
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from 'chai';
import type { SnapshotReader } from '../../../core/contracts/plugin.js';
import { StorageError } from '../../../core/errors.js';
import { IndexedCollection } from '../../../core/storage/indexed-collection.js';
import { indexedSnapshot } from '../../../core/storage/indexed-snapshot.js';
import { readWithin } from '../../../core/storage/read-within.js';
import { markets } from '../../../metro/collections.js';
import { documents, manifest } from '../../support/fixture.js';

describe('readWithin()', () => {
  const collections = new Map([[markets.name, markets]]);
  const indexed = new IndexedCollection(markets, documents['markets'] ?? []);
  const snapshot = indexedSnapshot(
    { manifest, publishedAt: new Date(), collections: new Map([[markets.name, indexed]]) },
    () => undefined,
  );
  const read = <Result>(ms: number, work: (reader: SnapshotReader) => Promise<Result>) =>
    readWithin(ms, snapshot, collections, work);
  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => assert.fail('It resolved.'),
      (error: unknown) => error,
    );

  it('resolves with what was read', async () => {
    assert.lengthOf(await read(60_000, (reader) => reader.find(markets)), documents['markets']?.length ?? 0);
  });

  it('rejects with unavailable when reads that are quick, each for itself, take too long together', async () => {
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
    assert.instanceOf(error, StorageError);
    assert.equal((error as StorageError).code, 'unavailable');
    assert.isAbove(reads, 1);
  });

  it('rejects with what went wrong otherwise', async () => {
    const failing = new Error('a fault of the handler');
    assert.equal(await failure(read(60_000, () => Promise.reject(failing))), failing);
    const other = { ...markets, name: 'others' };
    const error = await failure(read(60_000, (reader) => reader.find(other)));
    assert.equal((error as StorageError).code, 'unknown_collection');
  });
});
