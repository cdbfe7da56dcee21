/** Defines adapters that make mistakes while publications of the same adapter wait for each other. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const own = (what: string) => `a publication that waits for another one of its adapter ${what}`;
const ABORTED = own('can be aborted, and calls onWait() at most once');
const CLOSED = own('rejects when its adapter is closed, and is never made');
const FAILED = own('is made or rejected with conflict if the other one fails, and so are later ones');

/** Waits until no publication of this adapter is in progress. */
class Waiting extends FolderAdapter {
  override async whilePublishing(dataset: Dataset, options: PublishOptions) {
    while (this.publishing) {
      this.assertUsable(options.signal);
      await delay(10);
    }
    return this.publish(dataset, options);
  }
}

export const queueBugs: readonly BrokenAdapter[] = [
  {
    that: 'rejects all publications that wait for one that fails with the error of the latter',
    fails: [FAILED],
    folder: class extends Waiting {
      #failure: unknown;
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        const isWaiting = this.publishing;
        if (!isWaiting) this.#failure = undefined;
        try {
          await super.publish(dataset, options);
        } catch (error) {
          this.#failure ??= error;
          throw this.#failure;
        }
      }
      override async whilePublishing(dataset: Dataset, options: PublishOptions) {
        while (this.publishing) await delay(10);
        if (this.#failure) throw this.#failure;
        return this.publish(dataset, options);
      }
    },
  },
  {
    that: 'does not notice that a publication that waits is aborted',
    fails: [ABORTED],
    folder: class extends Waiting {
      override async whilePublishing(dataset: Dataset, options: PublishOptions) {
        while (this.publishing) await delay(10);
        return this.publish(dataset, options);
      }
    },
  },
  {
    that: 'never settles a publication that waits when it is closed',
    fails: [CLOSED],
    folder: class extends Waiting {
      override async whilePublishing(dataset: Dataset, options: PublishOptions) {
        return new Promise<void>((resolve, reject) => {
          const timer = setInterval(() => {
            if (options.signal?.aborted) reject(new StorageError('aborted', 'The publication was aborted.'));
            if (this.publishing && !this.closed) return;
            clearInterval(timer);
            if (!this.closed) this.publish(dataset, options).then(resolve, reject);
          }, 10);
        });
      }
    },
  },
  {
    that: 'unlocks the store when a publication that waits is aborted',
    fails: ['a publication in progress keeps the store locked when a publication that waits is aborted'],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        for (;;) {
          try {
            return await super.lock(options);
          } catch {
            if (options.signal?.aborted) this.unlock();
            this.assertUsable(options.signal);
            await delay(10);
          }
        }
      }
    },
  },
];
