import { setTimeout as delay } from 'node:timers/promises';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { aborted, type BrokenAdapter, getting, publishing } from './breaking.js';

const SIGNAL = 'reading from a large dataset a signal';

export const cancellingFaults: readonly BrokenAdapter[] = [
  {
    that: 'ignores the signal of a descending find',
    fault: inSnapshot((snapshot) => ({
      find: (collection, query, signal) =>
        snapshot.find(collection, query, query.descending && !signal?.aborted ? undefined : signal),
    })),
    fails: [
      `${SIGNAL} aborted between two batches makes find() reject with aborted, for other orders, ranges and descending too`,
    ],
  },
  {
    that: 'ends a find without an error when its signal is aborted',
    sqlite: {},
    fault: inSnapshot((snapshot) => ({
      async *find(collection, query, signal) {
        if (signal?.aborted) throw aborted();
        for await (const batch of snapshot.find(collection, query)) {
          if (signal?.aborted) return;
          yield batch;
        }
      },
    })),
    fails: [`${SIGNAL} aborted after 1 to 20 batches makes find() reject with aborted instead of the next one`],
  },
  {
    that: 'rejects with the reason of the signal',
    sqlite: {},
    ...getting((snapshot, collection, key, signal) => {
      if (signal?.aborted) throw signal.reason;
      return snapshot.get(collection, key);
    }),
    fails: [`${SIGNAL} that is aborted makes get() reject with aborted`],
  },
  {
    that: 'throws instead of rejecting when the signal of get() is aborted',
    ...getting((snapshot, collection, key, signal) => {
      if (signal?.aborted) throw aborted();
      return snapshot.get(collection, key, signal);
    }),
    fails: [`${SIGNAL} that is aborted makes get() reject with aborted`],
  },
  {
    that: 'leaves its listeners on the signal',
    ...getting((snapshot, collection, key, signal) => {
      signal?.addEventListener('abort', () => {});
      return snapshot.get(collection, key, signal);
    }),
    fails: [`${SIGNAL} has no listeners left after its reads have finished, and may then be aborted`],
  },
  {
    that: 'ends every read when the signal of one is aborted',
    fault: inSnapshots(() => {
      let stopped = false;
      return (snapshot) => ({
        async *find(collection, query, signal) {
          stopped = false;
          signal?.addEventListener('abort', () => (stopped = true), { once: true });
          for await (const batch of snapshot.find(collection, query, signal)) {
            if (stopped) throw aborted();
            yield batch;
          }
        },
      });
    }),
    fails: [`${SIGNAL} aborted interrupts its own read and no other, and the snapshot stays readable`],
  },
  {
    that: 'treats any signal as aborted',
    sqlite: {},
    fault: inSnapshot((snapshot) => ({
      find(collection, query, signal) {
        if (signal && query.limit === undefined && collection === 'items') throw aborted();
        return snapshot.find(collection, query, signal);
      },
    })),
    fails: [`${SIGNAL} that is not aborted changes nothing`],
  },
  {
    that: 'notices an aborted signal only when a document has been read',
    ...getting(async (snapshot, collection, key, signal) => {
      const found = await snapshot.get(collection, key, signal);
      if (signal) await delay(300);
      if (signal?.aborted) throw aborted();
      return found;
    }),
    fails: [`${SIGNAL} aborted during get() ends the call immediately`],
  },
  {
    that: 'notices an aborted signal only after a ping',
    fault: (adapter) => ({
      async ping(signal) {
        await adapter.ping(signal);
        if (signal) await delay(300);
        if (signal?.aborted) throw aborted();
      },
    }),
    fails: [`${SIGNAL} aborted during ping() ends the call immediately`],
  },
  {
    that: 'can have four reads in progress',
    fault: inSnapshots(() => {
      let inProgress = 0;
      return (snapshot) => ({
        async *find(collection, query, signal) {
          if (inProgress >= 4) throw new StorageError('unavailable', 'All connections are in use.');
          inProgress++;
          try {
            yield* snapshot.find(collection, query, signal);
          } finally {
            inProgress--;
          }
        },
      });
    }),
    fails: ['reading from a large dataset concurrent reads return their own results, even if 40 reads are in progress'],
  },
  {
    that: 'remembers that a publication was aborted',
    ...publishing(async (adapter, dataset, options) => {
      if (options?.signal && stopped.has(dataset.manifest.version)) throw aborted();
      await adapter.publish!(dataset, options).catch((error) => {
        stopped.add(dataset.manifest.version);
        throw error;
      });
    }),
    fails: ['publish(dataset) works again after it was aborted, under the same version and with another signal'],
  },
];

const stopped = new Set<string>();
