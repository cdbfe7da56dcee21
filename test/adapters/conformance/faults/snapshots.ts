import type { StorageAdapter } from '../../../../core/contracts/storage.js';
import { inSnapshot } from '../breakable.js';
import { aborted, type BrokenAdapter, getting } from './breaking.js';

// All open adapters share the most recently published dataset.
const sharing: StorageAdapter[] = [];

export const snapshotFaults: readonly BrokenAdapter[] = [
  {
    that: 'ignores the signal of a get',
    ...getting((snapshot, collection, key) => snapshot.get(collection, key)),
    fails: ['reading from a large dataset a signal that is aborted makes get() reject with aborted'],
  },
  {
    that: 'checks the signal of a find only once',
    fault: inSnapshot((snapshot) => ({
      async *find(collection, query, signal) {
        if (signal?.aborted) throw aborted();
        yield* snapshot.find(collection, query);
      },
    })),
    fails: [
      'reading from a large dataset a signal aborted after 1 to 20 batches makes find() reject with aborted instead of the next one',
    ],
  },
  {
    that: 'shares its store with other adapters',
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
    that: 'changes a held snapshot when another version becomes current',
    fault: inSnapshot((_, adapter) => ({
      get(...given) {
        const current = adapter.snapshot();
        current.release();
        return current.get(...given);
      },
    })),
    fails: ['snapshot() does not change after another version became current'],
  },
  {
    that: 'continues a find on the current snapshot',
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
    fails: ['reads in progress return their whole result, during any other call'],
  },
  {
    that: 'never calls changed()',
    context: (context) => ({ ...context, changed() {} }),
    fails: ['changed() is called when snapshot() returns another version', 'versions activate() calls changed()'],
  },
  {
    that: 'calls changed() too early',
    fault: (adapter, context) => ({
      async publish(dataset, options) {
        if (dataset.manifest.version === 'second-2' && !options) context.changed();
        await adapter.publish!(dataset, options);
      },
    }),
    fails: ['changed() is called when snapshot() returns another version'],
  },
];
