/** Faults of who holds what, and of who shares documents with whom. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Snapshot } from '../../../../core/contracts/storage.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { type BrokenAdapter, finding, getting, publishing, versioning } from './breaking.js';

const RELEASE = 'versions release() ends one hold, however often it is called, and leaves those of others';

const find = async (snapshot: Snapshot, ...given: Parameters<Snapshot['find']>): Promise<Document[]> => {
  const found: Document[] = [];
  for await (const batch of snapshot.find(...given)) found.push(...batch);
  return found;
};

export const holderFaults: readonly BrokenAdapter[] = [
  { that: 'counts a second release', sqlite: { release: (held) => void held.holds-- }, fails: [RELEASE] },
  {
    that: 'ends the holds of all when one is released',
    sqlite: {
      release(held) {
        held.holds = 0;
      },
    },
    fails: [RELEASE],
  },
  {
    that: 'never ends a hold',
    sqlite: { release() {} },
    fails: ['versions prune() leaves a version that is held readable, and deletes it after its release'],
  },
  {
    that: 'counts two releases of what asOf() answered with',
    ...versioning((versions) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        if (!snapshot) return undefined;
        const another = await versions.asOf(time);
        return { ...snapshot, release: () => another?.release() };
      },
    })),
    fails: ['versions asOf() holds what it answers with'],
  },
  {
    that: 'keeps the version before the current one, and no other that is held',
    fault: inSnapshots(() => {
      const snapshots: Snapshot[] = [];
      return (snapshot) => {
        if (snapshots.at(-1)?.version !== snapshot.version) snapshots.push(snapshot);
        const readable = () => (snapshots.indexOf(snapshot) < snapshots.length - 3 ? snapshots.at(-1)! : snapshot);
        return {
          get: (...given) => readable().get(...given),
          find: (...given) => readable().find(...given),
        };
      };
    }),
    fails: ['snapshot() that is held stays readable through several changes'],
  },
];

export const sharingFaults: readonly BrokenAdapter[] = [
  {
    that: 'hands the same document to everybody who asks for its key',
    fault: inSnapshots(() => {
      const documents = new Map<string, Document>();
      return (snapshot) => ({
        async get(collection, key, signal) {
          const name = JSON.stringify([snapshot.version, collection, key]);
          const found = await snapshot.get(collection, key, signal);
          if (found && !documents.has(name)) documents.set(name, structuredClone(found));
          return found && documents.get(name);
        },
      });
    }),
    fails: ['reading a document that its reader changes is changed for nobody else: one of get()'],
  },
  {
    that: 'shares what is nested in its documents',
    fault: inSnapshots(() => {
      const nested = new Map<string, unknown>();
      return (snapshot) => ({
        async *find(collection, query, signal) {
          for await (const batch of snapshot.find(collection, query, signal)) {
            yield batch.map((document) => {
              if (document['list'] === undefined) return document;
              const name = `${collection} ${document['id']}`;
              if (!nested.has(name)) nested.set(name, structuredClone(document['list']));
              return { ...document, list: nested.get(name) };
            });
          }
        },
      });
    }),
    fails: ['reading a document that its reader changes is changed for nobody else: one of find()'],
  },
  {
    that: 'keeps the documents of its publisher',
    fault(adapter) {
      const given = new Map<string, Document>();
      return {
        async publish(dataset, options) {
          const read = async function* (name: string) {
            for await (const batch of dataset.read(name)) {
              if (name === 'items') for (const document of batch) given.set(document['id'] as string, document);
              yield batch;
            }
          };
          given.clear();
          await adapter.publish!({ manifest: dataset.manifest, read }, options);
          for (const [id, document] of given) given.set(id, document);
        },
        snapshot() {
          const snapshot = adapter.snapshot();
          return {
            ...snapshot,
            async *find(collection, query, signal) {
              for await (const batch of snapshot.find(collection, query, signal)) {
                yield collection === 'items' ? batch.map((item) => given.get(item['id'] as string) ?? item) : batch;
              }
            },
          };
        },
      };
    },
    fails: ['documents are their publisher’s again once publish() has resolved'],
  },
  {
    that: 'keeps what a key had in an earlier version',
    fault: inSnapshots(() => {
      const documents = new Map<string, Document | undefined>();
      return (snapshot) => ({
        async get(collection, key, signal) {
          const name = JSON.stringify([collection, key]);
          const found = await snapshot.get(collection, key, signal);
          if (found && !documents.has(name)) documents.set(name, found);
          return found && documents.get(name);
        },
      });
    }),
    fails: ['snapshot() answers from its own version, whatever was asked of another one before'],
  },
  {
    that: 'remembers which keys are not there',
    fault: inSnapshots(() => {
      const absent = new Set<string>();
      return (snapshot) => ({
        async get(collection, key, signal) {
          const name = JSON.stringify([collection, key]);
          const found = absent.has(name) ? undefined : await snapshot.get(collection, key, signal);
          if (!found) absent.add(name);
          return found;
        },
      });
    }),
    fails: ['snapshot() answers from its own version, whatever was asked of another one before'],
  },
  {
    that: 'fills one batch again and again',
    fault: inSnapshot((snapshot) => ({
      async *find(...given) {
        const batch: Document[] = [];
        for await (const found of snapshot.find(...given)) {
          batch.splice(0, batch.length, ...found);
          yield batch;
        }
      },
    })),
    fails: ['reading from a large dataset batches stay as they were handed out'],
  },
  {
    that: 'keeps rows and fields of the version before',
    ...publishing((adapter, dataset, options) => {
      const read = async function* (name: string): AsyncGenerator<readonly Document[]> {
        if (name !== 'readings') return yield* dataset.read(name);
        const rows: Document[] = [];
        for await (const batch of dataset.read(name)) rows.push(...batch);
        if (rows.length > 0) return yield rows;
        const before = adapter.snapshot();
        yield await find(before, name, { order: ['station', 'day', 'hour'] });
        before.release();
      };
      return adapter.publish!({ manifest: dataset.manifest, read }, options);
    }),
    fails: ['snapshot() keeps nothing of an earlier version: rows, fields and collections that are gone are gone'],
  },
  {
    that: 'looks for a key in the collection that was asked last',
    fault: inSnapshots(() => {
      const documents = new Map<string, Document>();
      return (snapshot) => ({
        async get(collection, key, signal) {
          const found = await snapshot.get(collection, key, signal);
          if (collection !== 'items' && collection !== 'items_twins') return found;
          const name = `${snapshot.version} ${key}`;
          if (found && !documents.has(name)) documents.set(name, found);
          return found && documents.get(name);
        },
      });
    }),
    fails: ['reading get(collection, key) looks into its own collection, also where another has the same key'],
  },
  {
    that: 'changes the key that it is given',
    ...getting(async (snapshot, collection, key, signal) => {
      const found = await snapshot.get(collection, key, signal);
      (key as unknown[]).length = 0;
      return found;
    }),
    fails: ['reading find(collection) leaves the query and the key that it is given as they are'],
  },
  {
    that: 'loses the last row where a page is full',
    ...finding((found) => (found.length > 0 && found.length % 500 === 0 ? found.slice(0, -1) : found)),
    fails: [
      'reading from a large dataset a collection of 50,000 documents is found up to the limit, which counts all batches together',
    ],
  },
];
