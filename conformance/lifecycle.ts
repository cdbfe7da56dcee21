/** Proves that an adapter opens and closes in any order, and says when it cannot be read. */
import assert from 'node:assert/strict';
import type { Document } from '../core/contracts/dataset.js';
import type { StorageAdapter } from '../core/contracts/storage.js';
import { StorageError } from '../core/errors.js';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, sameItems, sameSequence, sameValue } from './expect.js';
import {
  anotherDataset,
  crowd,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  itemsOf,
  rows,
  rowsWithCrowd,
} from './fixture.js';
import { currentVersion, find, itUnless, startInstance, withEmptyInstance, withInstance } from './instance.js';

/** Everything that can be asked of an open adapter. */
const callsOf = (adapter: StorageAdapter): readonly (() => unknown)[] => [
  () => adapter.ping(),
  () => adapter.snapshot(),
  ...(adapter.publish ? [() => adapter.publish!(anotherDataset())] : []),
  ...(adapter.versions
    ? [
        () => adapter.versions!.list(),
        () => adapter.versions!.activate(FIRST),
        () => adapter.versions!.prune(1),
        () => adapter.versions!.asOf(new Date()),
      ]
    : []),
];

export const describeLifecycle = (target: AdapterUnderTest): void => {
  const withoutEmpty = !target.createEmpty && 'the author gave no createEmpty()';
  const withoutBreak =
    !(target.breakBackend && target.repairBackend) && 'the author gave no breakBackend() and repairBackend()';

  it(
    'the adapter can do what its capabilities say, and nothing else',
    withInstance(target, async ({ adapter }) => {
      const able = {
        publish: adapter.publish !== undefined,
        versions: adapter.versions !== undefined,
        audit: adapter.audit !== undefined,
      };
      const { publish, versions, audit = false } = target.capabilities;
      sameValue(
        able,
        { publish, versions, audit },
        'publish(), versions and audit where the capabilities declare them',
      );
    }),
  );

  describe('open()', () => {
    it(
      'may be called again',
      withInstance(target, async (instance) => {
        await Promise.all([instance.adapter.open(), instance.adapter.open()]);
        sameValue(currentVersion(instance), FIRST, 'the version of snapshot()');
      }),
    );

    it(
      'called again changes nothing: neither what is current nor what is held',
      withInstance(target, async (instance) => {
        if (target.capabilities.publish) await instance.adapter.publish!(anotherDataset());
        const { version, publishedAt } = instance.adapter.snapshot();
        const held = instance.adapter.snapshot();
        await instance.adapter.open();
        const after = instance.adapter.snapshot();
        sameValue(
          [after.version, after.publishedAt],
          [version, publishedAt],
          'the snapshot to be the same after open()',
        );
        sameItems(await find(held, items), version === FIRST ? rows['items']! : itemsOf(version));
      }),
    );

    itUnless(
      withoutEmpty,
      'ends one way or the other when close() is called meanwhile',
      withEmptyInstance(target, async ({ adapter }) => {
        const opening = adapter.open();
        // Listened to from the start: a rejection before close() resolves is no unhandled one.
        const settling = Promise.allSettled([opening]);
        await adapter.close();
        const [settled] = await settling;
        if (settled?.status === 'rejected') await failsWith('closed', () => opening);
        await failsWith('closed', () => adapter.snapshot());
      }),
    );
  });

  describe('close()', () => {
    it(
      'may be called twice, one after the other and at once',
      withInstance(target, async ({ adapter }) => {
        await Promise.all([adapter.close(), adapter.close()]);
        await adapter.close();
      }),
    );

    itUnless(
      withoutEmpty,
      'may be called before open(), which then rejects with closed',
      withEmptyInstance(target, async ({ adapter }) => {
        await adapter.close();
        await failsWith('closed', () => adapter.open());
      }),
    );

    it(
      'makes a later open() reject with closed',
      withInstance(target, async ({ adapter }) => {
        await adapter.close();
        await failsWith('closed', () => adapter.open());
      }),
    );

    it(
      'makes every later call fail with closed',
      withInstance(target, async ({ adapter }) => {
        await adapter.close();
        for (const call of callsOf(adapter)) await failsWith('closed', call);
      }),
    );

    it(
      'makes reads of a held snapshot reject with closed; its release() stays possible',
      withInstance(target, async ({ adapter }) => {
        const snapshot = adapter.snapshot();
        await adapter.close();
        await failsWith('closed', () => snapshot.get('items', ['i01']));
        await failsWith('closed', () => find(snapshot, items));
        snapshot.release();
      }),
    );

    it('lets a find() that has begun end with all its rows, or reject with closed', async () => {
      const instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, rowsWithCrowd()));
      try {
        const found: Document[] = [];
        const batches = instance.adapter.snapshot().find('crowd', { order: crowd.key })[Symbol.asyncIterator]();
        found.push(...((await batches.next()).value ?? []));
        await instance.adapter.close();
        const rest = async (): Promise<void> => {
          for (let batch = await batches.next(); !batch.done; batch = await batches.next()) found.push(...batch.value);
        };
        const [settled] = await Promise.allSettled([rest()]);
        if (settled?.status === 'rejected') await failsWith('closed', () => Promise.reject(settled.reason));
        else sameSequence(crowd, found, rowsWithCrowd()['crowd']!);
      } finally {
        await instance.stop();
      }
    });

    itUnless(
      !target.capabilities.versions && 'the adapter does not declare the capability "versions"',
      'makes reads of what asOf() answered with reject with closed',
      withInstance(target, async ({ adapter }) => {
        const snapshot = await adapter.versions!.asOf(new Date());
        await adapter.close();
        await failsWith('closed', () => snapshot!.get('items', ['i01']));
        await failsWith('closed', () => find(snapshot!, items));
        snapshot!.release();
      }),
    );

    itUnless(
      !target.capabilities.publish && 'the adapter does not declare the capability "publish"',
      'lets a publication that is under way settle, published or rejected',
      withInstance(target, async ({ adapter }) => {
        const dataset = anotherDataset();
        let closing: Promise<void> | undefined;
        const publishing = adapter.publish!({
          ...dataset,
          async *read(collection) {
            closing ??= adapter.close();
            await new Promise(setImmediate);
            yield* dataset.read(collection);
          },
        });
        const [settled] = await Promise.allSettled([publishing]);
        await closing;
        if (settled?.status === 'rejected') {
          assert(settled.reason instanceof StorageError, `expected a StorageError, got ${settled.reason}`);
        }
        await failsWith('closed', () => adapter.snapshot());
      }),
    );

    it(
      'lets reads that are under way settle, with the answer or with closed',
      withInstance(target, async ({ adapter }) => {
        const snapshot = adapter.snapshot();
        const reads = [find(snapshot, items), snapshot.get('items', ['i01']).then((item) => [item!])];
        const answers = [rows['items']!, rows['items']!.slice(0, 1)];
        // Listened to from the start: a rejection before close() resolves is no unhandled one.
        const settling = Promise.allSettled(reads);
        await adapter.close();
        for (const [i, settled] of (await settling).entries()) {
          if (settled.status === 'fulfilled') sameItems(settled.value, answers[i]!);
          else await failsWith('closed', () => reads[i]);
        }
      }),
    );
  });

  describe('ping()', () => {
    it(
      'resolves while the store can be read',
      withInstance(target, ({ adapter }) => adapter.ping()),
    );

    itUnless(
      withoutBreak,
      'rejects with unavailable while the backend is gone, and resolves when it is back',
      withInstance(target, async ({ adapter }) => {
        await target.breakBackend!(adapter);
        try {
          await failsWith('unavailable', () => adapter.ping());
        } finally {
          await target.repairBackend!(adapter);
        }
        await adapter.ping();
      }),
    );
  });

  itUnless(
    withoutBreak,
    'reads while the backend is gone answer rightly or reject with unavailable, and work when it is back',
    withInstance(target, async ({ adapter }) => {
      const snapshot = adapter.snapshot();
      const read = () => find(snapshot, items);
      await target.breakBackend!(adapter);
      try {
        const [settled] = await Promise.allSettled([read()]);
        if (settled?.status === 'fulfilled') sameItems(settled.value, rows['items']!);
        else await failsWith('unavailable', () => Promise.reject(settled?.reason));
      } finally {
        await target.repairBackend!(adapter);
      }
      sameItems(await read(), rows['items']!);
      snapshot.release();
    }),
  );
};
