import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Manifest } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions, Snapshot } from '../../../../core/contracts/storage.js';
import { FolderAdapter, type Move } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const SEQUENCES = 'any sequence of publications, activations, deletions and reads has the same result as the model';

type Rows = ReturnType<Snapshot['find']>;

/** Does not release the snapshot unless `lists.count` is 0. `counted` changes this count. */
const releasing = (counted: (rows: Rows, lists: { count: number }) => Rows) =>
  class extends FolderAdapter {
    override hold(move: Move): Snapshot | undefined {
      const snapshot = super.hold(move);
      const lists = { count: 0 };
      return (
        snapshot && {
          ...snapshot,
          find: (...query: Parameters<Snapshot['find']>) => counted(snapshot.find(...query), lists),
          release: () => {
            if (lists.count === 0) snapshot.release();
          },
        }
      );
    }
  };

/** The adapters of each store. The timer of one adapter polls for all of them. */
const polled = new Map<string, { readonly owner: FolderAdapter; readonly all: Set<FolderAdapter> }>();

/** Bugs that show only after a while, or in an adapter that is opened or read for longer. */
export const lastingBugs: readonly BrokenAdapter[] = [
  {
    that: 'calls changed() a second time for its own publications',
    fails: ['changed() is not called again while nothing changes'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        await super.publish(dataset, options);
        setTimeout(() => !this.closed && this.context.changed(), 600).unref();
      }
    },
  },
  {
    that: 'waits for a pause before it follows',
    fails: ['another adapter over the same store notices activations that follow each other without a pause'],
    folder: class extends FolderAdapter {
      override startTimer() {
        let last = '';
        const check = async () => {
          const found = await readFile(this.path('catalog.json'), 'utf8').catch(() => '');
          if (found === last) this.look();
          last = found;
        };
        return setInterval(check, 100).unref();
      }
    },
  },
  {
    that: 'follows with the timer of the adapter that was opened first',
    fails: ['another adapter over the same store is not affected when the first one is closed'],
    folder: class extends FolderAdapter {
      override startTimer() {
        const key = this.path('');
        const known = polled.get(key) ?? { owner: this as FolderAdapter, all: new Set() };
        polled.set(key, known);
        known.all.add(this);
        if (known.owner !== this) return undefined;
        const lookAll = () => {
          for (const adapter of known.all) adapter.look();
        };
        return setInterval(lookAll, this.pollMs).unref();
      }
    },
  },
  {
    that: 'deletes all but ten versions when it is opened',
    fails: ['versions list() returns any number of versions, and prune() deletes them'],
    folder: class extends FolderAdapter {
      override async open() {
        await super.open();
        await this.prune(10);
      }
    },
  },
  {
    that: 'opens its folder each time open() is called',
    fails: ['the adapter has no more open files, timers and listeners after many calls'],
    folder: class extends FolderAdapter {
      override async open() {
        await super.open();
        openSync(this.path(''), 'r');
      }
    },
  },
  {
    that: 'loses the locks of snapshots that are taken in changed()',
    fails: ['versions prune() keeps a version of which changed() has taken a snapshot'],
    folder: class extends FolderAdapter {
      override onMove() {
        super.onMove();
        this.holds.set(this.catalog.moves.at(-1)!.id, 0);
      }
    },
  },
  {
    that: 'remembers that ping() has resolved',
    fails: ['ping() rejects with unavailable while the backend is unreachable, and resolves when it is back'],
    fault: (adapter) => {
      let hasResolved = false;
      return {
        async ping(signal) {
          if (!hasResolved || signal?.aborted) await adapter.ping(signal);
          hasResolved = true;
        },
      };
    },
  },
  {
    that: 'reports an aborted ping() as a problem',
    fails: ['problem() is not called with a message while the store works'],
    fault: (adapter, context) => ({
      async ping(signal) {
        if (signal?.aborted) context.problem('The store does not answer.');
        await adapter.ping(signal);
      },
    }),
  },
  {
    that: 'keeps a version locked if it is released during a list',
    fails: ['versions a find() that was left early, aborted or not ended holds nothing after its snapshot is released'],
    folder: releasing(async function* (rows, lists) {
      lists.count++;
      try {
        yield* rows;
      } finally {
        lists.count--;
      }
    }),
  },
  {
    that: 'keeps a version locked if a list was left early',
    fails: [SEQUENCES],
    folder: releasing(async function* (rows, lists) {
      lists.count++;
      yield* rows;
      lists.count--;
    }),
  },
  {
    that: 'counts versions in 32 bits',
    fails: [SEQUENCES],
    folder: class extends FolderAdapter {
      override toPrune(keep: number) {
        return super.toPrune(keep | 0);
      }
    },
  },
  {
    that: 'takes the seconds of sources for minutes',
    fails: [SEQUENCES],
    folder: class extends FolderAdapter {
      override hold(move: Move): Snapshot | undefined {
        const snapshot = super.hold(move);
        if (!snapshot) return undefined;
        const { manifest } = snapshot;
        const minutes = (seconds: number) => Math.round(seconds / 60) * 60;
        const sources = manifest.sources.map((source) => ({
          ...source,
          late_after_seconds:
            source.late_after_seconds > 2 ? minutes(source.late_after_seconds) : source.late_after_seconds,
        }));
        return { ...snapshot, manifest: { ...manifest, sources } };
      }
    },
  },
  {
    that: 'stores the version "catalog" in the file of its catalog',
    fails: ['versions with similar names are different versions'],
    folder: class extends FolderAdapter {
      override newId(manifest: Manifest) {
        return manifest.version === 'catalog' ? 'catalog' : super.newId(manifest);
      }
    },
  },
];
