/** Faults of snapshots, of who shares them, and of who is told of them. */
import type { StorageAdapter } from '../../../../core/contracts/storage.js';
import { inSnapshot } from '../breakable.js';
import { aborted, type BrokenAdapter, getting } from './breaking.js';

// The adapters that are open and share what was last published to any of them.
const sharing: StorageAdapter[] = [];

export const snapshotFaults: readonly BrokenAdapter[] = [
  {
    that: 'does not look at the signal of a get',
    ...getting((snapshot, collection, key) => snapshot.get(collection, key)),
    fails: ['reading from a large dataset a signal that is aborted makes get() reject with aborted'],
  },
  {
    that: 'looks at the signal of a find only once',
    fault: inSnapshot((snapshot) => ({
      async *find(collection, query, signal) {
        if (signal?.aborted) throw aborted();
        yield* snapshot.find(collection, query);
      },
    })),
    fails: [
      'reading from a large dataset a signal aborted between two batches makes find() reject with aborted instead of the second',
    ],
  },
  {
    that: 'shares its store with the others',
    fault: (adapter) => ({
      async publish(...given) {
        await adapter.publish!(...given);
        sharing.push(adapter);
      },
      async close() {
        if (sharing.includes(adapter)) sharing.splice(sharing.indexOf(adapter), 1);
        await adapter.close();
      },
      snapshot: () => (sharing.includes(adapter) ? sharing.at(-1)! : adapter).snapshot(),
    }),
    fails: ['the factory gives every test a store of its own'],
  },
  {
    that: 'lets a held snapshot follow the current one',
    fault: inSnapshot((_, adapter) => ({
      get(...given) {
        const current = adapter.snapshot();
        current.release();
        return current.get(...given);
      },
    })),
    fails: ['snapshot() that is held stays as it was after another became current'],
  },
  {
    that: 'lets a find go on with the current snapshot',
    fault: inSnapshot((snapshot, adapter) => ({
      async *find(collection, query, signal) {
        let position = 0;
        for await (const batch of snapshot.find(collection, query, signal)) {
          yield batch;
          position += batch.length;
          const current = adapter.snapshot();
          current.release();
          if (current.version === snapshot.version) continue;
          for await (const other of current.find(collection, query, signal)) yield other.slice(position);
          return;
        }
      },
    })),
    fails: ['snapshot() lets a find() that began before the change end as it began'],
  },
  {
    that: 'calls nobody when another version is current',
    context: (context) => ({ ...context, changed() {} }),
    fails: ['changed() is called once snapshot() answers with another version', 'versions activate() calls changed()'],
  },
  {
    that: 'calls changed() too early',
    fault: (adapter, context) => ({
      async publish(dataset, options) {
        if (dataset.manifest.version === 'second-2' && !options) context.changed();
        await adapter.publish!(dataset, options);
      },
    }),
    fails: ['changed() is called once snapshot() answers with another version'],
  },
];
