/** Defines adapters that leak files, timers or listeners, or rely on wrong assumptions about datasets and callers. */
import { openSync, writeFileSync } from 'node:fs';
import type { Dataset, PublishOptions, Snapshot } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { FolderAdapter, type Move, type Stored } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const OPEN = 'the adapter has no more open files, timers and listeners after many calls';
const EMPTY = 'versions an empty store has no versions to list, prune, read or activate';
const SEQUENCES = 'any sequence of publications, activations, deletions and reads has the same result as the model';

export const remainingBugs: readonly BrokenAdapter[] = [
  {
    that: 'gives up a lock after a day',
    fails: ['versions prune() keeps a held version even if the clock jumps'],
    folder: class extends FolderAdapter {
      readonly #since = new Map<string, number>();
      override hold(move: Move) {
        this.#since.set(move.id, this.context.clock.now());
        return super.hold(move);
      }
      override isHeld(id: string) {
        return super.isHeld(id) && this.context.clock.now() - this.#since.get(id)! < 86_400_000;
      }
    },
  },
  {
    that: 'opens a file for each snapshot of asOf()',
    fails: [OPEN],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        const snapshot = await super.asOf(time);
        if (snapshot) openSync(this.path('catalog.json'), 'r');
        return snapshot;
      }
    },
  },
  {
    that: 'starts a timer for each list()',
    fails: [OPEN],
    folder: class extends FolderAdapter {
      override async list() {
        setInterval(() => {}, 60_000);
        return super.list();
      }
    },
  },
  {
    that: 'keeps the files of deleted versions',
    fails: ['versions prune() deletes the files of each deleted version'],
    folder: class extends FolderAdapter {
      override remove(pruned: readonly Stored[]) {
        const { versions, moves } = this.catalog;
        this.save({ versions: versions.filter((each) => !pruned.includes(each)), moves });
      }
    },
  },
  {
    that: 'deletes a version of which asOf() has just returned a snapshot',
    fails: ['versions prune() at the same time as asOf() keeps the version that asOf() returns'],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        this.assertUsable();
        const pruned = this.toPrune(keep);
        await new Promise(setImmediate);
        this.remove(pruned);
        return pruned.map(({ version }) => version);
      }
    },
  },
  {
    that: 'adds a listener to the process for each failed publication',
    fails: [OPEN],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        const stop = () => {};
        process.setMaxListeners(0).on('SIGUSR2', stop);
        await super.publish(dataset, options);
        process.off('SIGUSR2', stop);
      }
    },
  },
  {
    that: 'leaves a file for each aborted publication',
    fails: ['a publication leaves no files behind if it fails several times'],
    folder: class extends FolderAdapter {
      #drafts = 0;
      override async readAll(dataset: Dataset, options: PublishOptions) {
        try {
          return await super.readAll(dataset, options);
        } catch (error) {
          if (options.signal?.aborted) writeFileSync(this.path(`draft-${++this.#drafts}`), '');
          throw error;
        }
      }
    },
  },
  {
    that: 'rejects asOf() until something has been published',
    fails: [EMPTY],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        this.snapshot().release();
        return super.asOf(time);
      }
    },
  },
  {
    that: 'returns the same list until the catalog changes',
    fails: ['versions list() returns a new list, which its caller can change'],
    folder: class extends FolderAdapter {
      readonly #lists = new WeakMap<object, Awaited<ReturnType<FolderAdapter['list']>>>();
      override async list() {
        const listed = await super.list();
        const known = this.#lists.get(this.catalog) ?? listed;
        this.#lists.set(this.catalog, known);
        return known;
      }
    },
  },
  {
    that: 'ends a collection at an empty batch',
    fails: ['publish(dataset) makes a dataset visible only as a whole'],
    folder: class extends FolderAdapter {
      override async *batchesOf(dataset: Dataset, name: string) {
        let count = 0;
        for await (const batch of super.batchesOf(dataset, name)) {
          if (batch.length === 0 && count > 0) return;
          count += batch.length;
          yield batch;
        }
      }
    },
  },
  {
    that: 'rejects with unavailable if the dataset rejects with invalid_dataset',
    fails: [SEQUENCES],
    folder: class extends FolderAdapter {
      override async *batchesOf(dataset: Dataset, name: string) {
        try {
          yield* super.batchesOf(dataset, name);
        } catch (cause) {
          const code = (cause as StorageError).cause ? 'invalid_dataset' : 'unavailable';
          throw new StorageError(code, 'The dataset cannot be read.', {
            cause: (cause as StorageError).cause ?? cause,
          });
        }
      }
    },
  },
  {
    that: 'serves the version of an outage until it is closed',
    fails: ['another adapter over the same store is followed by the first one after an outage of its backend'],
    folder: FolderAdapter,
    fault(adapter) {
      let served: Snapshot | undefined;
      const { ping } = adapter;
      return {
        async ping(signal) {
          try {
            await ping(signal);
          } catch (error) {
            if ((error as StorageError).code === 'unavailable') served ??= adapter.snapshot();
            throw error;
          }
        },
        snapshot: () => (served ? { ...served, release() {} } : adapter.snapshot()),
      };
    },
  },
];
