import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { type Catalog, conflict, FolderAdapter, type Move } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const locked = (what: string) => `a publication in progress keeps the store locked when ${what}`;
const CLOSED = locked('another adapter is closed');
const OPENED = locked('another adapter is opened');
const REJECTED = locked('a publication of another adapter is rejected or waits');
const SECOND = locked('a second publication of its adapter is rejected or waits');
const TAKEN = locked('a publication under an existing name is rejected');
const WAITED = locked('half a second passes');
const LISTED = locked('versions are listed, activated and deleted');
const ABORTED = locked('an aborted publication is rejected');

const several = (what: string) => `several adapters over the same store ${what}`;
const REUSED = several('notice a version whose name was used before');
const PUBLISHING = several('notice an activation during a publication of their own');
const CHANGES = several('notice changes after they have made changes of their own');
const IDLE = several('notice a change after a while without changes');
const ON_TOP = several('make changes on top of the changes of others that they have not noticed yet');
const HELD = several('do not keep a version that was held only by an adapter that is closed');

class Stale extends FolderAdapter {
  isChanging = false;
  override look() {
    if (!this.isChanging) super.look();
  }
  async changing<T>(change: () => Promise<T>): Promise<T> {
    this.isChanging = true;
    const changed = change();
    this.isChanging = false;
    const result = await changed;
    this.look();
    return result;
  }
}

export const turnBugs: readonly BrokenAdapter[] = [
  {
    that: 'unlocks the store when it is closed',
    fails: [CLOSED],
    folder: class extends FolderAdapter {
      override async close() {
        await super.close();
        this.unlock();
      }
    },
  },
  {
    that: 'unlocks the store when it is opened',
    fails: [OPENED],
    folder: class extends FolderAdapter {
      override async open() {
        await super.open();
        this.unlock();
      }
    },
  },
  {
    that: 'unlocks the store when its publication is rejected',
    fails: [REJECTED],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        try {
          await super.lock(options);
        } catch (error) {
          this.unlock();
          throw error;
        }
      }
    },
  },
  {
    that: 'unlocks the store when its second publication is rejected',
    fails: [SECOND],
    folder: class extends FolderAdapter {
      override async whilePublishing() {
        this.unlock();
        throw conflict('Another publication is in progress.');
      }
    },
  },
  {
    that: 'unlocks the store when a name is in use',
    fails: [TAKEN],
    folder: class extends FolderAdapter {
      override onTaken(dataset: Dataset) {
        this.unlock();
        return super.onTaken(dataset);
      }
    },
  },
  {
    that: 'unlocks the store after 100 ms',
    fails: [WAITED],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        await super.lock(options);
        setTimeout(() => this.unlock(), 100).unref();
      }
    },
  },
  {
    that: 'unlocks the store when it deletes versions',
    fails: [LISTED],
    folder: class extends FolderAdapter {
      override prune(keep: number) {
        this.unlock();
        return super.prune(keep);
      }
    },
  },
  {
    that: 'unlocks the store when it activates a missing version',
    fails: [LISTED],
    folder: class extends FolderAdapter {
      override activate(version: string) {
        this.unlock();
        return super.activate(version);
      }
    },
  },
  {
    that: 'unlocks the store when a publication was aborted',
    fails: [ABORTED],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        if (options.signal?.aborted) this.unlock();
        await super.publish(dataset, options);
      }
    },
  },
  {
    that: 'does not notice a version if its name was used before',
    fails: [REUSED],
    folder: class extends FolderAdapter {
      readonly #names = new Set<string>();
      override load(catalog: Catalog) {
        const names = catalog.moves.map(({ version }) => version);
        const isOwn = this.publishing || this.catalog.moves.length === 0;
        const isReused = !isOwn && catalog.moves.length > this.catalog.moves.length && this.#names.has(names.at(-1)!);
        for (const name of names) this.#names.add(name);
        const isStored = this.catalog.moves.some(({ id }) => id === catalog.moves.at(-1)?.id);
        super.load(isReused && !isStored ? { ...catalog, moves: this.catalog.moves } : catalog);
      }
    },
  },
  {
    that: 'does not poll during its own publication',
    fails: [PUBLISHING],
    folder: class extends FolderAdapter {
      override startTimer() {
        return setInterval(() => !this.publishing && this.look(), this.pollMs).unref();
      }
    },
  },
  {
    that: 'stops polling after 30 polls without a change',
    fails: [IDLE],
    folder: class extends FolderAdapter {
      override startTimer() {
        let polls = 0;
        const poll = () => {
          this.look();
          if (++polls > 30) clearInterval(this.timer);
        };
        return setInterval(poll, this.pollMs).unref();
      }
    },
  },
  {
    that: 'stops polling after its own activation',
    fails: [CHANGES],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        await super.activate(version);
        clearInterval(this.timer);
      }
    },
  },
  {
    that: 'stops polling after its own deletion',
    fails: [CHANGES],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        clearInterval(this.timer);
        return super.prune(keep);
      }
    },
  },
  {
    that: 'stops polling when it is opened again',
    fails: [CHANGES],
    folder: class extends FolderAdapter {
      override async open() {
        const isOpen = this.timer !== undefined;
        await super.open();
        if (isOpen) clearInterval(this.timer);
      }
    },
  },
  {
    that: 'activates on top of the last catalog that it has noticed',
    fails: [ON_TOP],
    folder: class extends Stale {
      override activate(version: string) {
        return this.changing(() => super.activate(version));
      }
    },
  },
  {
    that: 'keeps all versions that others have published since its own last publication',
    fails: [ON_TOP],
    folder: class extends FolderAdapter {
      #known: number | undefined;
      override async publish(dataset: Dataset, options?: PublishOptions) {
        await super.publish(dataset, options);
        this.#known = this.catalog.versions.length;
      }
      override toPrune(keep: number) {
        const { length } = this.catalog.versions;
        return super.toPrune(keep + Math.max(0, length - (this.#known ?? length)));
      }
    },
  },
  {
    that: 'deletes on top of the last catalog that it has noticed',
    fails: [ON_TOP],
    folder: class extends Stale {
      override prune(keep: number) {
        return this.changing(() => super.prune(keep));
      }
    },
  },
  {
    that: 'keeps its locks after close()',
    fails: [HELD],
    folder: class extends FolderAdapter {
      #count(id: string) {
        const file = this.path(`held-${id}`);
        return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
      }
      #add(id: string, holds: number) {
        writeFileSync(this.path(`held-${id}`), String(this.#count(id) + holds));
      }
      override hold(move: Move) {
        const snapshot = super.hold(move);
        if (!snapshot) return undefined;
        this.#add(move.id, 1);
        let isReleased = false;
        const release = () => {
          snapshot.release();
          if (!isReleased && !this.closed) this.#add(move.id, -1);
          isReleased = true;
        };
        return { ...snapshot, release };
      }
      override isHeld(id: string) {
        return this.#count(id) > 0;
      }
    },
  },
];
