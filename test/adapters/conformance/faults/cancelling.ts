import { setTimeout as delay } from 'node:timers/promises';
import type { Group } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { aborted, type BrokenAdapter, getting, publishing } from './breaking.js';
import { totalsOf } from './totals.js';

const SIGNAL = 'reading from a large dataset a signal';

export const cancellingFaults: readonly BrokenAdapter[] = [
  {
    that: 'ignores the signal of a descending find',
    fault: inSnapshot((snapshot) => ({
      find: (collection, query, signal) =>
        snapshot.find(collection, query, query.descending && !signal?.aborted ? undefined : signal),
    })),
    fails: [
      `${SIGNAL} aborted between two batches makes find() and findJson() reject with aborted, for any part of a query`,
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
    that: 'answers equal calls of totals() together, and rejects them when the first is aborted',
    fault: inSnapshots(() => {
      const asked = new Map<string, Promise<readonly Group[] | undefined>>();
      return (snapshot) => ({
        async totals(name, query, signal) {
          if (signal?.aborted) throw aborted();
          const text = JSON.stringify([name, query]);
          const count = async () => {
            await new Promise(setImmediate);
            if (signal?.aborted) throw aborted();
            return totalsOf(snapshot, name, query);
          };
          const groups = asked.get(text) ?? count().finally(() => asked.delete(text));
          asked.set(text, groups);
          return groups;
        },
      });
    }),
    fails: [`${SIGNAL} aborted affects no other call that reads the same at the same time`],
  },
  {
    that: 'keeps the connection of a findJson() that is left early',
    fault: inSnapshots(() => {
      let connections = 40;
      return (snapshot) => ({
        async *findJson(...given) {
          if (connections === 0) throw new StorageError('unavailable', 'All connections are in use.');
          connections--;
          yield* snapshot.findJson!(...given);
          connections++;
        },
      });
    }),
    fails: [`${SIGNAL} aborted in 300 reads leaves the adapter able to read, as do 300 reads that are left early`],
  },
  {
    that: 'ignores the signal of findJson() if a field is fixed',
    fault: inSnapshot((snapshot) => ({
      findJson: (name, query, signal) =>
        snapshot.findJson!(name, query, query.equal && !signal?.aborted ? undefined : signal),
    })),
    fails: [
      `${SIGNAL} aborted between two batches makes find() and findJson() reject with aborted, for any part of a query`,
    ],
  },
  {
    that: 'leaves a listener on the signal of a getJson() that fails',
    fault: inSnapshot((snapshot) => ({
      async getJson(name, key, signal) {
        const listen = () => {};
        signal?.addEventListener('abort', listen);
        const found = await snapshot.getJson!(name, key, signal);
        signal?.removeEventListener('abort', listen);
        return found;
      },
    })),
    fails: ['a signal has no listeners after reads that fail'],
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
