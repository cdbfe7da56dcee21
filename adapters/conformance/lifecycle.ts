import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Document, type Snapshot, type StorageAdapter, StorageError } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { eventually, failsWith, sameItems, sameList, sameSequence, sameValue } from './expect.js';
import { emptyReadsOf, find, parseRows, readsOf, restOf, startReads } from './find-rows.js';
import {
  anotherDataset,
  brokenDataset,
  crowd,
  crowdedDataset,
  FIRST,
  items,
  itemsIn,
  rows,
  rowsWithCrowd,
} from './fixture.js';
import { beginToPublish, hasVersion, readsItems } from './instance.js';
import { without } from './obstacles.js';
import { testsOfEmpty, testsOfOutages, testsOver } from './tests-over.js';

/**
 * Some adapters wait in `close()` for a publication in progress. After this time in milliseconds, tests resume the
 * publication.
 */
export const CLOSE_MS = 300;

const callsOf = (adapter: StorageAdapter): readonly (() => unknown)[] => [
  () => adapter.ping(),
  ...(adapter.publish ? [() => adapter.publish!(anotherDataset())] : []),
  ...(adapter.versions
    ? [
        () => adapter.versions!.list(),
        () => adapter.versions!.activate(FIRST),
        () => adapter.versions!.prune(1),
        () => adapter.versions!.asOf(new Date()),
      ]
    : []),
  ...(adapter.audit ? [() => adapter.audit!.list(), () => adapter.audit!.verify()] : []),
  ...(adapter.history ? [() => adapter.history!.read(), () => adapter.history!.clear()] : []),
  ...(adapter.checkIntegrity ? [() => adapter.checkIntegrity!(true), () => adapter.checkIntegrity!(false)] : []),
];

/**
 * Calls every method before `close()`, because an adapter that has cached the results could return them after
 * `close()`.
 */
const readsOnlyUntilClose = async (adapter: StorageAdapter, snapshots: readonly Snapshot[]): Promise<void> => {
  for (const read of readsOf(snapshots[0]!)) await read();
  await adapter.close();
  for (const snapshot of snapshots) {
    for (const read of [...readsOf(snapshot), ...emptyReadsOf(snapshot)]) await failsWith('closed', read);
    snapshot.release();
  }
};

async function* parsedCrowd(snapshot: Snapshot): AsyncGenerator<readonly Document[]> {
  for await (const batch of snapshot.findJson!('crowd', { order: crowd.key })) yield parseRows(batch);
}

export const describeLifecycle = (target: AdapterUnderTest): void => {
  const test = testsOver(target);
  const testBreaking = testsOfOutages(target);
  const testOfEmpty = testsOfEmpty(target);

  // Mocha runs the tests of a suite before its nested suites. Without this `describe`, these tests would run before the
  // tests of reading.
  describe('the adapter', () => {
    test('and its snapshots have the members of its capabilities, and no others', async ({ adapter }) => {
      const able = {
        publish: adapter.publish !== undefined,
        versions: adapter.versions !== undefined,
        audit: adapter.audit !== undefined,
      };
      const { publish, versions, audit = false, json = false, totals = false, search = false } = target.capabilities;
      sameValue(able, { publish, versions, audit }, 'publish(), versions and audit to match the capabilities');
      for (const snapshot of [adapter.snapshot(), await adapter.versions?.asOf(new Date())]) {
        if (!snapshot) continue;
        const { getJson, findJson, totals: total, searches = false } = snapshot;
        const has = { json: findJson !== undefined, totals: total !== undefined, search: searches };
        sameValue(has, { json, totals, search }, 'findJson(), totals() and searches to match the capabilities');
        sameValue(getJson !== undefined, json, 'getJson() to match the capability "json"');
        snapshot.release();
      }
    });
  });

  describe('methods that return promises', () => {
    test('reject instead of throwing', async ({ adapter }) => {
      const snapshot = adapter.snapshot();
      const query = { where: [], by: [], limit: 1 };
      const rejects = async (call: () => unknown): Promise<void> => {
        const pending = call();
        assert(typeof (pending as Promise<unknown>)?.then === 'function', `expected a promise, got ${pending}`);
        await failsWith(['aborted', 'unknown_collection', 'closed'], () => pending);
      };
      const signal = AbortSignal.abort();
      await rejects(() => adapter.ping(signal));
      await rejects(() => snapshot.get('items', ['i01'], signal));
      await rejects(() => snapshot.get('no_such', ['i01']));
      if (snapshot.totals) await rejects(() => snapshot.totals!('items', query, signal));
      if (snapshot.totals) await rejects(() => snapshot.totals!('no_such', query));
      if (adapter.publish) await rejects(() => adapter.publish!(anotherDataset(), { signal }));
      await adapter.close();
      await rejects(() => snapshot.get('items', ['i01']));
      for (const call of [() => adapter.open(), ...callsOf(adapter)]) await rejects(call);
      snapshot.release();
    });
  });

  describe('open()', () => {
    test('may be called again', async (instance) => {
      await Promise.all([instance.adapter.open(), instance.adapter.open()]);
      hasVersion(instance, FIRST);
    });

    test('called again changes nothing: current and held snapshots stay', async (instance) => {
      if (target.capabilities.publish) await instance.adapter.publish!(anotherDataset());
      const { version, publishedAt } = instance.adapter.snapshot();
      const held = instance.adapter.snapshot();
      await instance.adapter.open();
      const after = instance.adapter.snapshot();
      sameValue([after.version, after.publishedAt], [version, publishedAt], 'the snapshot to be the same after open()');
      await readsItems(held, itemsIn(version));
    });
  });

  describe('close()', () => {
    test('may be called twice, one after the other or at the same time', async ({ adapter }) => {
      await Promise.all([adapter.close(), adapter.close()]);
      await adapter.close();
    });

    testOfEmpty('may be called before open(), which then rejects with closed', async ({ adapter }) => {
      await adapter.close();
      await failsWith('closed', () => adapter.open());
    });

    test('makes a later open() reject with closed', async ({ adapter }) => {
      await adapter.close();
      await failsWith('closed', () => adapter.open());
    });

    test('makes every later call fail with closed', async ({ adapter }) => {
      await adapter.close();
      for (const call of [() => adapter.snapshot(), ...callsOf(adapter)]) await failsWith('closed', call);
    });

    test('makes reads of a held snapshot reject with closed; release() is still allowed', async ({ adapter }) => {
      await readsOnlyUntilClose(adapter, [adapter.snapshot(), adapter.snapshot()]);
    });

    for (const [method, obstacle, read] of [
      ['find()', false, (snapshot: Snapshot) => snapshot.find('crowd', { order: crowd.key })],
      ['findJson()', without(target, 'json'), parsedCrowd],
    ] as const) {
      testsOver(
        target,
        obstacle,
        crowdedDataset,
      )(`lets a ${method} in progress return all its rows or reject with closed`, async ({ adapter }) => {
        const batches = read(adapter.snapshot())[Symbol.asyncIterator]();
        const first: readonly Document[] = (await batches.next()).value ?? [];
        await adapter.close();
        const [settled] = await Promise.allSettled([restOf(batches)]);
        if (settled.status === 'rejected') await failsWith('closed', () => Promise.reject(settled.reason));
        else sameSequence(crowd, [...first, ...settled.value], rowsWithCrowd()['crowd']!);
      });
    }

    testsOver(target, without(target, 'versions'))(
      'makes reads of a snapshot from asOf() reject with closed',
      async ({ adapter }) => {
        const asOf = async () => (await adapter.versions!.asOf(new Date()))!;
        await readsOnlyUntilClose(adapter, [await asOf(), await asOf()]);
      },
    );

    testsOver(target, without(target, 'publish'))(
      'lets a publication in progress settle, published or rejected',
      async ({ adapter }) => {
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
      },
    );

    testsOver(target, without(target, 'publish'))(
      'makes a publication in progress reject, unless close() waits for it',
      async ({ adapter, changes }) => {
        const { publication, resume } = await beginToPublish(adapter);
        const settling = Promise.allSettled([publication]);
        const before = changes.length;
        const closing = adapter.close();
        const isClosed = await Promise.race([closing.then(() => true), delay(CLOSE_MS, false)]);
        resume();
        const [settled] = await settling;
        await closing;
        if (isClosed) sameValue(settled?.status, 'rejected', 'the publication to reject after close() has resolved');
        if (isClosed) sameList(changes.slice(before), [], 'no call of changed() after close()');
      },
    );

    testsOver(target, without(target, 'versions'))(
      'lets other calls in progress settle, and they reject only with a StorageError',
      async ({ adapter }) => {
        const { versions } = adapter;
        const calls = [
          adapter.ping(),
          versions!.list(),
          versions!.asOf(new Date()),
          versions!.activate(FIRST),
          versions!.prune(1),
        ];
        const settling = Promise.allSettled(calls);
        await adapter.close();
        for (const settled of await settling) {
          if (settled.status === 'fulfilled') continue;
          assert(settled.reason instanceof StorageError, `expected a StorageError, got ${settled.reason}`);
        }
      },
    );

    test('lets reads in progress settle, with their whole result or with closed', async ({ adapter }) => {
      const snapshot = adapter.snapshot();
      const reads = startReads(snapshot, rows['items']!);
      // Rejections are handled immediately, because an unhandled rejection would crash the process.
      const settling = Promise.allSettled(reads.map(([read]) => read));
      await adapter.close();
      for (const [i, settled] of (await settling).entries()) {
        const [read, expected] = reads[i]!;
        if (settled.status === 'fulfilled') sameItems(settled.value, expected);
        else await failsWith('closed', () => read);
      }
    });
  });

  describe('open()', () => {
    testOfEmpty('settles if close() is called in the meantime', async ({ adapter }) => {
      const opening = adapter.open();
      // Rejections are handled immediately, because an unhandled rejection would crash the process.
      const settling = Promise.allSettled([opening]);
      await adapter.close();
      const [settled] = await settling;
      if (settled?.status === 'rejected') await failsWith('closed', () => opening);
      await failsWith('closed', () => adapter.snapshot());
    });
  });

  describe('ping()', () => {
    test('resolves while the store can be read, even if a publication has failed', async ({ adapter }) => {
      await adapter.ping();
      await adapter.publish?.(brokenDataset(new Error('the file ends too early'))).catch(() => {});
      await adapter.ping();
    });

    testBreaking(
      'rejects with unavailable while the backend is unreachable, and resolves when it is back',
      async ({ adapter }) => {
        await adapter.ping();
        await target.breakBackend!(adapter);
        try {
          // If an adapter checks its connection only at intervals, ping() can still resolve for a short time.
          await eventually('ping() rejects', async () => (await adapter.ping().catch(() => true)) === true, 1000);
          await failsWith('unavailable', () => adapter.ping());
        } finally {
          await target.repairBackend!(adapter);
        }
        await adapter.ping();
      },
    );
  });

  describe('reads while the backend is unreachable', () => {
    testBreaking(
      'return the right result or reject with unavailable, and work when it is back',
      async ({ adapter }) => {
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
      },
    );
  });
};
