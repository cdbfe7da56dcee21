import type { Document } from '../../../../core/contracts/dataset.js';
import type { Query, Snapshot, StorageAdapter, Versions } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { type Breakage, inSnapshot } from '../breakable.js';

export interface BrokenAdapter extends Breakage {
  /** Bug of the adapter, worded to follow "an adapter that", such as "loses a row". */
  readonly that: string;
  /** Titles of the tests that must fail. Other tests may fail too. */
  readonly fails: readonly string[];
}

export const aborted = () => new StorageError('aborted', 'No longer wanted.');

export const hasCode = (error: unknown, code: string): boolean => error instanceof StorageError && error.code === code;

export const asking = (change: (query: Query) => Query): Breakage => ({
  fault: inSnapshot((snapshot) => ({
    find: (collection, query, signal) => snapshot.find(collection, change(query), signal),
  })),
});

export const finding = (change: (found: Document[], query: Query) => Document[]): Breakage => ({
  fault: inSnapshot((snapshot) => ({
    async *find(collection, query, signal) {
      const found: Document[] = [];
      for await (const batch of snapshot.find(collection, query, signal)) found.push(...batch);
      const changed = change(found, query);
      for (let start = 0; start < changed.length; start += 1000) {
        if (signal?.aborted) throw aborted();
        yield changed.slice(start, start + 1000);
      }
    },
  })),
});

export const reading = (change: (document: Document) => Document): Breakage => ({
  fault: inSnapshot((snapshot) => ({
    async get(...given) {
      const found = await snapshot.get(...given);
      return found && change(found);
    },
    async *find(...given) {
      for await (const batch of snapshot.find(...given)) yield batch.map(change);
    },
  })),
});

export const getting = (
  get: (snapshot: Snapshot, ...given: Parameters<Snapshot['get']>) => Promise<unknown>,
): Breakage => ({
  fault: inSnapshot((snapshot) => ({ get: (...given) => get(snapshot, ...given) as Promise<Document | undefined> })),
});

export const publishing = (
  publish: (adapter: StorageAdapter, ...given: Parameters<NonNullable<StorageAdapter['publish']>>) => Promise<void>,
): Breakage => ({ fault: (adapter) => ({ publish: (...given) => publish(adapter, ...given) }) });

export const versioning = (change: (versions: Versions, adapter: StorageAdapter) => Partial<Versions>): Breakage => ({
  fault: (adapter) => ({ versions: { ...adapter.versions!, ...change(adapter.versions!, adapter) } }),
});
