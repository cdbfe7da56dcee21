import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { inSnapshot } from '../breakable.js';
import { FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const never = new Promise<never>(() => {});

export const hangingBugs: readonly BrokenAdapter[] = [
  {
    that: 'yields the last page of a list again and again',
    fault: inSnapshot((snapshot) => ({
      async *find(...given) {
        let last: readonly Document[] = [];
        for await (const batch of snapshot.find(...given)) {
          yield batch;
          if (batch.length > 0) last = batch;
        }
        while (last.length > 0) yield last;
      },
    })),
    fails: ['reading get(collection, key) returns the same when called again, and after a find()'],
  },
  {
    that: 'returns a document from get() without a promise',
    fault: inSnapshot((snapshot) => {
      const found = new Map<string, Document | undefined>();
      return {
        get(collection, key, signal) {
          const name = JSON.stringify([collection, key]);
          if (found.has(name)) return found.get(name) as never;
          return snapshot.get(collection, key, signal).then((document) => {
            found.set(name, document);
            return document;
          });
        },
      };
    }),
    fails: [
      'reading a returned document that its caller changes does not affect other callers of the same snapshot, or documents that they already have',
    ],
  },
  {
    that: 'never closes',
    fault: (adapter) => ({
      async close() {
        await adapter.close();
        await never;
      },
    }),
    fails: ['close() may be called twice, one after the other or at the same time'],
  },
  {
    that: 'never ends a stream that is left early',
    fault: inSnapshot((snapshot) => ({
      find(...given) {
        const batches = snapshot.find(...given)[Symbol.asyncIterator]();
        const iterator = { next: () => batches.next(), return: () => never };
        return { [Symbol.asyncIterator]: () => iterator };
      },
    })),
    fails: ['reading from a large dataset concurrent reads do not affect each other when interleaved or left early'],
  },
  {
    that: 'never rejects a publication under an existing version',
    fails: [
      'publish(dataset) rejects with conflict for different content under an existing version, and changes nothing',
    ],
    folder: class extends FolderAdapter {
      override onTaken() {
        return never;
      }
    },
  },
  {
    that: 'waits for its snapshots to be released before it closes',
    fails: ['close() makes reads of a held snapshot reject with closed; release() is still allowed'],
    folder: class extends FolderAdapter {
      override async close() {
        await super.close();
        while (this.heldSnapshots() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  },
  {
    that: 'never answers pings while a publication is in progress',
    fails: ['during a publication ping() resolves'],
    folder: class extends FolderAdapter {
      override async ping(signal?: AbortSignal) {
        await super.ping(signal);
        if (this.publishing) await never;
      }
    },
  },
  {
    that: 'stays locked if read() throws',
    fails: ['publish(dataset) rejects if read() of the dataset throws, and can be called again'],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const read = (name: string) => {
          try {
            return dataset.read(name);
          } catch (error) {
            this.unlock = () => {};
            throw error;
          }
        };
        return super.readAll({ ...dataset, read }, options);
      }
    },
  },
];
