import { isDeepStrictEqual } from 'node:util';
import type { Document } from '../../../../core/contracts/dataset.js';
import type { JsonRows, Query, Versions } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { aborted, type BrokenAdapter, getting } from './breaking.js';

const MANY = 'reading from a large dataset';
const OWN_KEYS = `${MANY} concurrent reads return the documents of their own keys: present, missing, repeated, and of any collection`;
const SAME_READS = `${MANY} a signal aborted affects no other call that reads the same at the same time`;
const MANY_READS = `${MANY} a signal aborted in 300 reads leaves the adapter able to read, as do 300 reads that are left early`;
const ANY_REASON = `${MANY} a signal aborted with any reason makes every read reject with aborted`;

type Reads = Map<string, Promise<Document | undefined>>;

const shared = async (reads: Reads, id: string, read: () => Promise<Document | undefined>) => {
  const reading = reads.get(id) ?? read();
  reads.set(id, reading);
  return structuredClone(await reading);
};

export const overlappingBugs: readonly BrokenAdapter[] = [
  {
    that: 'makes equal reads at the same time share the signal of the first one',
    fault: inSnapshots(() => {
      const reads: Reads = new Map();
      return (snapshot) => ({
        async get(collection, key, signal) {
          const id = JSON.stringify([collection, key]);
          const read = async () => {
            await new Promise(setImmediate);
            if (signal?.aborted) throw aborted();
            return snapshot.get(collection, key, signal);
          };
          return shared(reads, id, () => read().finally(() => reads.delete(id)));
        },
      });
    }),
    fails: [SAME_READS],
  },
  {
    that: 'keeps the rejection of an aborted read',
    fault: inSnapshots(() => {
      const reads: Reads = new Map();
      return (snapshot) => ({
        async get(collection, key, signal) {
          if (signal?.aborted) throw aborted();
          const id = JSON.stringify([collection, key]);
          const read = async () => {
            const found = await snapshot.get(collection, key);
            if (signal?.aborted) throw aborted();
            return found;
          };
          return shared(reads, id, read);
        },
      });
    }),
    fails: [SAME_READS],
  },
  {
    that: 'combines reads, and assigns the found documents to keys by position',
    fault: inSnapshots(() => {
      let calls: Promise<Document | undefined>[] | undefined;
      return (snapshot) => ({
        async get(collection, key, signal) {
          calls ??= [];
          const together = calls;
          const index = together.push(snapshot.get(collection, key, signal)) - 1;
          await Promise.resolve();
          calls = undefined;
          await together[index];
          return (await Promise.all(together)).filter((document) => document !== undefined)[index];
        },
      });
    }),
    fails: [OWN_KEYS],
  },
  {
    that: 'combines reads of keys that are equal when joined',
    fault: inSnapshots(() => {
      let calls: Reads = new Map();
      return (snapshot) => ({
        async get(collection, key, signal) {
          const id = `${collection}/${key}`;
          const found = await shared(calls, id, () => snapshot.get(collection, key, signal));
          calls = new Map();
          return found;
        },
      });
    }),
    fails: [OWN_KEYS],
  },
  {
    that: 'rejects with the reason of a signal that is a timeout',
    ...getting((snapshot, collection, key, signal) => {
      const reason = signal?.reason as Error | undefined;
      return reason?.name === 'TimeoutError' ? Promise.reject(reason) : snapshot.get(collection, key, signal);
    }),
    fails: [ANY_REASON],
  },
  {
    that: 'loses a connection with each aborted read',
    fault: inSnapshots(() => {
      let free = 20;
      return (snapshot) => ({
        async get(collection, key, signal) {
          if (free === 0) return new Promise<never>(() => {});
          free--;
          const found = await snapshot.get(collection, key);
          if (signal?.aborted) throw aborted();
          free++;
          return found;
        },
      });
    }),
    fails: [MANY_READS],
  },
  {
    that: 'loses a connection with each read that is left early',
    fault: inSnapshots(() => {
      let free = 100;
      return (snapshot) => ({
        async *find(collection, query, signal) {
          if (free === 0) await new Promise<never>(() => {});
          free--;
          for await (const batch of snapshot.find(collection, query, signal)) yield batch;
          free++;
        },
      });
    }),
    fails: [MANY_READS],
  },
  {
    that: 'shares one result between equal queries that overlap',
    fault: inSnapshots(() => {
      const open: { readonly query: Query; readonly batches: AsyncIterator<readonly Document[]> }[] = [];
      return (snapshot) => ({
        async *find(collection, query, signal) {
          const other = open.find((each) => isDeepStrictEqual(each.query, query));
          const batches = other?.batches ?? snapshot.find(collection, query, signal)[Symbol.asyncIterator]();
          open.push({ query, batches });
          for (let batch = await batches.next(); !batch.done; batch = await batches.next()) yield batch.value;
        },
      });
    }),
    fails: [`${MANY} concurrent reads of one query do not affect each other when interleaved`],
  },
  {
    that: 'throws a RangeError for a long key',
    fault: inSnapshot((snapshot) => ({
      async get(collection, key, signal) {
        if (key.some((value) => typeof value === 'string' && value.length > 2000)) throw new RangeError('too long');
        return snapshot.get(collection, key, signal);
      },
    })),
    fails: ['reading get(collection, key) returns undefined for a key that is longer than any key can be'],
  },
  {
    that: 'yields the JSON text of the last query to all queries that overlap',
    fault: inSnapshots(() => {
      const last = { rows: [] as JsonRows[] };
      return (snapshot) => ({
        async *findJson(collection, query, signal) {
          const rows: JsonRows[] = [];
          for await (const each of snapshot.findJson!(collection, query, signal)) rows.push(each);
          last.rows = rows;
          await new Promise(setImmediate);
          yield* last.rows;
        },
      });
    }),
    fails: [
      'findJson(collection, query) yields the rows of each query when 40 queries overlap, and some are left early',
    ],
  },
  {
    that: 'throws instead of rejecting when a closed adapter lists its versions',
    fault(adapter) {
      let closed = false;
      const list = (): ReturnType<Versions['list']> => {
        if (closed) throw new StorageError('closed', 'The adapter has been closed.');
        return adapter.versions!.list();
      };
      return {
        versions: { ...adapter.versions!, list },
        async close() {
          closed = true;
          await adapter.close();
        },
      };
    },
    fails: ['methods that return promises reject instead of throwing'],
  },
  {
    that: 'keeps the rejection of a read whose signal was aborted before',
    fault: inSnapshots(() => {
      const reads: Reads = new Map();
      return (snapshot) => ({
        async get(collection, key, signal) {
          const id = JSON.stringify([collection, key]);
          const found = await shared(reads, id, () => snapshot.get(collection, key, signal));
          if (signal?.aborted) throw aborted();
          return found;
        },
      });
    }),
    fails: [SAME_READS],
  },
  {
    that: 'rejects pings after a publication has failed',
    fault(adapter) {
      let failed = false;
      return {
        async publish(dataset, options) {
          failed = true;
          await adapter.publish!(dataset, options);
          failed = false;
        },
        async ping(signal) {
          if (failed) throw new StorageError('unavailable', 'The last publication has failed.');
          await adapter.ping(signal);
        },
      };
    },
    fails: ['ping() resolves while the store can be read, even if a publication has failed'],
  },
];
