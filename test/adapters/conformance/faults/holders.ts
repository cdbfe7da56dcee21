import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions, Snapshot } from '../../../../core/contracts/storage.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { FolderAdapter } from '../folder-adapter.js';
import { type BrokenAdapter, finding, getting, publishing, versioning } from './breaking.js';

const RELEASE = 'versions release() releases one lock: further calls do nothing, and other locks stay';
const LEFT = 'versions release(), a publication that fails and open() leave the locks of other snapshots';
const LOCKS = 'versions activate() keeps the locks of all versions';

const find = async (snapshot: Snapshot, ...given: Parameters<Snapshot['find']>): Promise<Document[]> => {
  const found: Document[] = [];
  for await (const batch of snapshot.find(...given)) found.push(...batch);
  return found;
};

export const holderFaults: readonly BrokenAdapter[] = [
  { that: 'counts a second release', sqlite: { release: (held) => void held.holds-- }, fails: [RELEASE] },
  {
    that: 'releases all locks when one is released',
    sqlite: {
      release(held) {
        held.holds = 0;
      },
    },
    fails: [RELEASE],
  },
  {
    that: 'counts the locks in one byte',
    sqlite: {
      release(held) {
        held.holds = (held.holds - 1) % 256;
      },
    },
    fails: ['versions prune() counts any number of snapshots'],
  },
  {
    that: 'never releases a lock',
    sqlite: { release() {} },
    fails: ['versions prune() keeps a held version readable, and deletes it after its release'],
  },
  {
    that: 'counts two releases of a snapshot from asOf()',
    ...versioning((versions) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        if (!snapshot) return undefined;
        const another = await versions.asOf(time);
        return { ...snapshot, release: () => another?.release() };
      },
    })),
    fails: ['versions asOf() locks the version that it returns'],
  },
  {
    that: 'keeps the previous version, but no other held version',
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
    fails: ['snapshot() stays readable through several changes until it is released'],
  },
  {
    that: 'releases the locks of the current version when a publication fails',
    fails: [LEFT],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        await super.publish(dataset, options).catch((error) => {
          this.holds.set(this.catalog.moves.at(-1)?.id ?? '', 0);
          throw error;
        });
      }
    },
  },
  {
    that: 'releases all locks when it is opened again',
    fails: [LEFT],
    folder: class extends FolderAdapter {
      override async open() {
        await super.open();
        this.holds.clear();
      }
    },
  },
  {
    that: 'releases the locks of the version that an activation replaces',
    fails: [LOCKS],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        const replaced = this.catalog.moves.at(-1)!.id;
        await super.activate(version);
        this.holds.set(replaced, 0);
      }
    },
  },
  {
    that: 'releases the locks of the version that becomes current',
    fails: [LOCKS],
    folder: class extends FolderAdapter {
      override onMove() {
        this.holds.set(this.catalog.moves.at(-1)!.id, 0);
        super.onMove();
      }
    },
  },
];

const collecting = (dataset: Dataset, found: Map<string, Document>): Dataset => ({
  manifest: dataset.manifest,
  async *read(name) {
    for await (const batch of dataset.read(name)) {
      if (name === 'items') for (const document of batch) found.set(document['id'] as string, document);
      yield batch;
    }
  },
});

export const sharingFaults: readonly BrokenAdapter[] = [
  {
    that: 'returns the same document to every caller of get()',
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
    fails: ['reading a returned document that its caller changes does not affect other callers: one of get()'],
  },
  {
    that: 'shares nested values of its documents',
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
    fails: ['reading a returned document that its caller changes does not affect other callers: one of find()'],
  },
  {
    that: 'keeps the documents of its publisher',
    fault(adapter) {
      const given = new Map<string, Document>();
      return {
        async publish(dataset, options) {
          given.clear();
          await adapter.publish!(collecting(dataset, given), options);
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
    fails: ['documents and the manifest belong to their publisher after publish() has resolved'],
  },
  {
    that: 'returns the documents of its publisher from get()',
    fault(adapter) {
      const given = new Map<string, Document>();
      return {
        publish: (dataset, options) => adapter.publish!(collecting(dataset, given), options),
        snapshot() {
          const snapshot = adapter.snapshot();
          return {
            ...snapshot,
            async get(collection, key, signal) {
              const found = await snapshot.get(collection, key, signal);
              return collection === 'items' ? (given.get(key[0] as string) ?? found) : found;
            },
          };
        },
      };
    },
    fails: ['documents and the manifest belong to their publisher after publish() has resolved'],
  },
  {
    that: 'caches documents by key across versions',
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
    fails: ['snapshot() reads its own version, whatever was read from another one before'],
  },
  {
    that: 'caches missing keys across versions',
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
    fails: ['snapshot() reads its own version, whatever was read from another one before'],
  },
  {
    that: 'reuses the array of a batch',
    fault: inSnapshot((snapshot) => ({
      async *find(...given) {
        const batch: Document[] = [];
        for await (const found of snapshot.find(...given)) {
          batch.splice(0, batch.length, ...found);
          yield batch;
        }
      },
    })),
    fails: ['reading from a large dataset batches do not change after they were yielded'],
  },
  {
    that: 'keeps rows and fields of the previous version',
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
    fails: ['snapshot() keeps nothing of an earlier version: no rows, fields or collections that the new one lacks'],
  },
  {
    that: 'reads a key from the collection of the previous call',
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
    fails: ['reading get(collection, key) reads its own collection when another one has the same key'],
  },
  {
    that: 'changes the key that it receives',
    ...getting(async (snapshot, collection, key, signal) => {
      const found = await snapshot.get(collection, key, signal);
      (key as unknown[]).length = 0;
      return found;
    }),
    fails: ['reading find(collection) does not change the query and the key that it receives'],
  },
  {
    that: 'loses the last row of a full page',
    ...finding((found) => (found.length > 0 && found.length % 500 === 0 ? found.slice(0, -1) : found)),
    fails: [
      'reading from a large dataset a collection of 66,000 documents returns documents up to the limit, which counts all batches together',
    ],
  },
];
