import { setImmediate as turn } from 'node:timers/promises';
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { type Catalog, type Content, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const AT_ONCE = 'several changes at the same time have the result of the same changes one after the other';

export const atOnceBugs: readonly BrokenAdapter[] = [
  {
    that: 'determines the time of an activation before it locks the store',
    fails: [AT_ONCE],
    folder: class extends FolderAdapter {
      #time: string | undefined;
      override async activate(version: string) {
        this.assertUsable();
        const time = this.catalog.moves.length > 0 ? super.activationTime() : undefined;
        await turn();
        this.#time = time;
        await super.activate(version);
      }
      override activationTime() {
        return this.#time ?? super.activationTime();
      }
    },
  },
  {
    that: 'has a lock that it can take twice, and one table for the rows of a publication',
    fails: [AT_ONCE],
    folder: class extends FolderAdapter {
      #table: Record<string, Document[]> = {};
      override async publish(dataset: Dataset, options?: PublishOptions) {
        this.publishing = false;
        await super.publish(dataset, options);
      }
      override async lock() {}
      override async readAll(dataset: Dataset, options: PublishOptions): Promise<Content> {
        this.#table = {};
        for (const [name, rows] of Object.entries(await super.readAll(dataset, options))) {
          this.#table[name] = [...(this.#table[name] ?? []), ...rows];
          await turn();
        }
        return { ...this.#table };
      }
    },
  },
  {
    that: 'deletes versions by their position, which another deletion changes',
    fails: [AT_ONCE],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        this.assertUsable();
        this.look();
        const positions = this.toPrune(keep).map((each) => this.catalog.versions.indexOf(each));
        await turn();
        this.assertUsable();
        this.look();
        const { versions, moves } = this.catalog;
        const pruned = versions.filter(({ id }, i) => positions.includes(i) && id !== moves.at(-1)?.id);
        if (pruned.length > 0) this.remove(pruned.filter(({ id }) => !this.isHeld(id)));
        return pruned.map(({ version }) => version);
      }
    },
  },
  {
    that: 'loses an activation that is made during a deletion',
    fails: [AT_ONCE],
    folder: class extends FolderAdapter {
      #before: Catalog['moves'] | undefined;
      override async prune(keep: number) {
        this.assertUsable();
        this.look();
        const { moves } = this.catalog;
        await turn();
        this.#before = moves;
        try {
          return await super.prune(keep);
        } finally {
          this.#before = undefined;
        }
      }
      override save({ versions, moves }: Catalog) {
        super.save({ versions, moves: this.#before ?? moves });
      }
    },
  },
];
