/** Defines adapters in which a call disturbs another call that is in progress. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions, Query } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { FolderAdapter, type Stored } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const OWN = 'reads in progress return their whole result, during any other call';
const OTHER = 'reads in progress return their whole result, during any call of another adapter';

/** Has a connection, which some calls replace. A list in progress notices the new connection. */
class Connected extends FolderAdapter {
  connection = 0;
  onLost(): boolean {
    throw new StorageError('unavailable', 'The connection was reset.');
  }
  override async *findRows(rowsOf: () => readonly Document[], query: Query, signal?: AbortSignal) {
    const { connection } = this;
    for await (const batch of super.findRows(rowsOf, query, signal)) {
      if (this.connection !== connection && this.onLost()) return;
      yield batch;
    }
  }
}

export const disturbedReadBugs: readonly BrokenAdapter[] = [
  {
    that: 'ends its lists with an error when a publication fails',
    fails: [OWN],
    folder: class extends Connected {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        try {
          return await super.readAll(dataset, options);
        } catch (error) {
          this.connection++;
          throw error;
        }
      }
    },
  },
  {
    that: 'ends its lists early when versions are deleted',
    fails: [OWN],
    folder: class extends Connected {
      override onLost() {
        return true;
      }
      override remove(pruned: readonly Stored[]) {
        super.remove(pruned);
        this.connection++;
      }
    },
  },
  {
    that: 'ends its lists when another list of the same rows is aborted',
    fails: [OWN],
    folder: class extends Connected {
      override rowsOf(content: Record<string, readonly Document[]>, name: string, signal?: AbortSignal) {
        if (signal?.aborted && name === 'crowd') this.connection++;
        return super.rowsOf(content, name, signal);
      }
    },
  },
  {
    that: 'ends its lists when it notices a version of another adapter',
    fails: [OTHER],
    folder: class extends Connected {
      override onMove() {
        if (!this.publishing) this.connection++;
        super.onMove();
      }
      override async activate(version: string) {
        this.publishing = true;
        await super.activate(version).finally(() => {
          this.publishing = false;
        });
      }
    },
  },
];

const SAME = 'a change during a publication of the same adapter';
const ENDS = 'settles, whether the publication succeeds, fails, or is aborted or closed, and so do later changes';

/** Makes changes after the publication in progress has ended. */
class Queue extends FolderAdapter {
  ended: Promise<void> = Promise.resolve();
  /** Resolves when the publication has ended. */
  endOf(publication: Promise<void>): Promise<void> {
    return publication.catch(() => {});
  }
  override publish(dataset: Dataset, options?: PublishOptions) {
    const publication = super.publish(dataset, options);
    if (this.publishing) this.ended = this.endOf(publication);
    return publication;
  }
  override async whilePublishing(): Promise<void> {
    throw new StorageError('conflict', 'Another publication is in progress.');
  }
  override async activate(version: string) {
    if (this.publishing) await this.ended;
    return super.activate(version);
  }
  override async prune(keep: number) {
    if (this.publishing) await this.ended;
    return super.prune(keep);
  }
}

export const queuedChangeBugs: readonly BrokenAdapter[] = [
  {
    that: 'never activates a version if it waits for a publication that fails',
    fails: [`${SAME} ${ENDS}`],
    folder: class extends Queue {
      override endOf(publication: Promise<void>) {
        return new Promise<void>((resolve) => publication.then(resolve, () => {}));
      }
      override async prune(keep: number) {
        return FolderAdapter.prototype.prune.call(this, keep);
      }
    },
  },
  {
    that: 'rejects a deletion that waits with the error of the publication',
    fails: [`${SAME} ${ENDS}`],
    folder: class extends Queue {
      override endOf(publication: Promise<void>) {
        return publication;
      }
      override async activate(version: string) {
        return FolderAdapter.prototype.activate.call(this, version);
      }
    },
  },
  {
    that: 'drops an activation that waits for a publication that is aborted',
    fails: [`${SAME} ${ENDS}`],
    folder: class extends Queue {
      #isAborted = false;
      override async readAll(dataset: Dataset, options: PublishOptions) {
        this.#isAborted = false;
        return super.readAll(dataset, options).finally(() => {
          this.#isAborted = options.signal?.aborted ?? false;
        });
      }
      override async activate(version: string) {
        const hasWaited = this.publishing;
        if (hasWaited) await this.ended;
        if (!(hasWaited && this.#isAborted)) await super.activate(version);
      }
    },
  },
];

const CLOSED = 'a change in progress when its adapter is closed has its effect, or rejects';

export const closedChangeBugs: readonly BrokenAdapter[] = [
  {
    that: 'resolves an activation that it does not make because it is closed',
    fails: [CLOSED],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        this.assertUsable();
        await nextTurn();
        if (!this.closed) await super.activate(version);
      }
    },
  },
  {
    that: 'returns the versions that it does not delete because it is closed',
    fails: [CLOSED],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        this.assertUsable();
        this.look();
        const pruned = this.toPrune(keep);
        await nextTurn();
        if (!this.closed) this.remove(pruned);
        return pruned.map(({ version }) => version);
      }
    },
  },
  {
    that: 'resolves a publication that it does not make because it is closed',
    fails: [CLOSED],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        this.assertUsable(options.signal);
        try {
          await super.publish(dataset, options);
        } catch (error) {
          if (!(error instanceof StorageError && error.code === 'closed')) throw error;
        }
      }
    },
  },
];
