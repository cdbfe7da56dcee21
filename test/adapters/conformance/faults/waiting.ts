import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { conflict, FolderAdapter, type Move } from '../folder-adapter.js';
import { type BrokenAdapter, versioning } from './breaking.js';

const WAITING = 'a publication that waits for another one';

class Patient extends FolderAdapter {
  isWaiting = false;
  override async lock(options: PublishOptions) {
    for (let i = 0; ; i++) {
      try {
        return await super.lock(options);
      } catch (error) {
        if (i > 10_000) throw error;
        this.isWaiting = true;
        await delay(10);
      }
    }
  }
}

export const waitingBugs: readonly BrokenAdapter[] = [
  {
    that: 'is unlocked by the publication that it rejects',
    fails: ['a publication in progress keeps its adapter locked when other publications of the adapter were rejected'],
    folder: class extends FolderAdapter {
      override async whilePublishing() {
        this.publishing = false;
        this.unlock();
        throw conflict('Another publication is in progress.');
      }
    },
  },
  {
    that: 'is unlocked by a publication whose signal is aborted',
    fails: ['a publication in progress keeps its adapter locked when other publications of the adapter were rejected'],
    folder: class extends FolderAdapter {
      #locks = 0;
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        if (options.signal?.aborted) this.publishing = false;
        return super.publish(dataset, options);
      }
      override async lock(options: PublishOptions) {
        if (this.#locks++ === 0) await super.lock(options);
      }
      override unlock() {
        if (--this.#locks === 0) super.unlock();
      }
    },
  },
  {
    that: 'changes the time of an existing version when it rejects a publication',
    fails: ['versions publish() rejects with conflict for different content under an existing version, current or not'],
    folder: class extends FolderAdapter {
      override async onTaken(dataset: Dataset) {
        const { version, created } = dataset.manifest;
        const publishedAt = new Date(created).toISOString();
        const versions = this.catalog.versions.map((each) =>
          each.version === version ? { ...each, publishedAt } : each,
        );
        this.save({ versions, moves: this.catalog.moves });
        await super.onTaken(dataset);
      }
    },
  },
  {
    that: 'never shows the current version as held',
    fails: ['versions list() shows which versions are held'],
    ...versioning((versions) => ({
      list: async () => (await versions.list()).map((each) => ({ ...each, held: each.held && !each.current })),
    })),
  },
  {
    that: 'rejects keys above a limit that it does not declare',
    fails: ['reading starts with a publication of all rows within the limits of the adapter'],
    folder: class extends FolderAdapter {
      override keyText(key: Parameters<FolderAdapter['keyText']>[0]) {
        const text = super.keyText(key);
        if (text.length > 1000) throw new StorageError('invalid_dataset', 'A key is too long.');
        return text;
      }
      override encode(document: Document, name: string) {
        this.keyText(this.context.collections.get(name)!.key.map((field) => document[field] as string));
        return super.encode(document, name);
      }
    },
  },
  {
    that: 'caches the results of asOf() by time',
    fails: ['versions asOf() notices changes, even if it was called for the same time before'],
    folder: class extends FolderAdapter {
      readonly #found = new Map<number, Move>();
      override moveAt(time: Date) {
        const found = this.#found.get(time.getTime()) ?? super.moveAt(time);
        if (found) this.#found.set(time.getTime(), found);
        return found;
      }
    },
  },
  {
    that: 'changes the time of held snapshots when their version is activated again',
    fails: ['versions a held snapshot keeps its time when its version is activated again'],
    folder: class extends FolderAdapter {
      override hold(move: Move) {
        const held = super.hold(move);
        const isCurrent = move === this.catalog.moves.at(-1);
        const since = () => this.catalog.moves.findLast(({ id }) => id === move.id)!.since;
        return (
          held && Object.defineProperty(held, 'publishedAt', { get: () => new Date(isCurrent ? since() : move.since) })
        );
      }
    },
  },
  {
    that: 'activates the version whose name starts with the requested name',
    fails: ['versions activate() rejects with unknown_version for a missing version, and changes nothing'],
    folder: class extends FolderAdapter {
      override async activate(name: string) {
        const stored = this.catalog.versions.find(({ version }) => version.startsWith(name));
        await super.activate(stored?.version ?? name);
      }
    },
  },
  {
    that: 'ignores case when it activates a version',
    fails: ['versions activate() rejects with unknown_version for a missing version, and changes nothing'],
    folder: class extends FolderAdapter {
      override async activate(name: string) {
        const { versions } = this.catalog;
        const stored =
          versions.find(({ version }) => version === name) ??
          versions.find(({ version }) => version.toLowerCase() === name.toLowerCase());
        await super.activate(stored?.version ?? name);
      }
    },
  },
  {
    that: 'keeps 32 bits of the number of versions that prune() keeps',
    fails: ['versions prune() deletes all but the newest, and returns what it deleted'],
    folder: class extends FolderAdapter {
      override toPrune(keep: number) {
        return super.toPrune(keep | 0);
      }
    },
  },
  {
    that: 'uses the clock if the time of creation is 0',
    fails: ['versions have times before 1970 and after 2038'],
    folder: class extends FolderAdapter {
      override timeOf(...given: Parameters<FolderAdapter['timeOf']>) {
        const time = super.timeOf(...given);
        return Date.parse(time) ? time : new Date(this.context.clock.now()).toISOString();
      }
    },
  },
  {
    that: 'stays locked if onProgress() throws',
    fails: ['a failed publication leaves the store unlocked if onProgress() throws'],
    folder: class extends FolderAdapter {
      override publish(dataset: Dataset, options: PublishOptions = {}) {
        const onProgress: PublishOptions['onProgress'] = (progress) => {
          try {
            options.onProgress?.(progress);
          } catch (error) {
            this.unlock = () => {};
            throw error;
          }
        };
        return super.publish(dataset, { ...options, onProgress });
      }
    },
  },
  {
    that: 'rejects list() with an error of its driver if it is closed in the meantime',
    fails: ['close() lets other calls in progress settle, and they reject only with a StorageError'],
    folder: class extends FolderAdapter {
      override async list() {
        const listed = await super.list();
        await new Promise(setImmediate);
        if (this.closed) throw new TypeError('The database connection is not open');
        return listed;
      }
      override async close() {
        await super.close();
        await delay(1);
      }
    },
  },
  {
    that: 'ignores the signal while it waits for another publication',
    fails: [`${WAITING} can be aborted, and calls onWait() at most once`],
    folder: Patient,
  },
  {
    that: 'calls onWait() each time it tries to lock the store',
    fails: [`${WAITING} can be aborted, and calls onWait() at most once`],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        for (let i = 0; ; i++) {
          this.assertUsable(options.signal);
          try {
            return await super.lock(options);
          } catch (error) {
            if (i > 10_000) throw error;
            options.onWait?.('Another adapter is publishing.');
            await delay(10);
          }
        }
      }
    },
  },
  {
    that: 'publishes after it was closed if it was waiting for another publication',
    fails: [`${WAITING} rejects when its adapter is closed, and is never made`],
    folder: class extends Patient {
      override assertUsable(signal?: AbortSignal) {
        if (!this.isWaiting) super.assertUsable(signal);
        else if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
      }
    },
  },
];
