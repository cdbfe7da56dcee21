import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { type Catalog, conflict, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const KILLED = 'an adapter in another process, over the same store that is killed while it';
const STORES = `${KILLED} stores a version leaves the previous version or the whole new one`;
const ACTIVATES = `${KILLED} activates or deletes versions leaves only whole versions`;
const LATE_MS = 60_000;

/** Writes some changes to the store only after `LATE_MS`. Until then, only adapters in the same process see them. */
class LateAdapter extends FolderAdapter {
  static readonly #late = new Map<string, { readonly catalog: Catalog; readonly timer: NodeJS.Timeout }>();
  isLate = false;
  override save(catalog: Catalog) {
    const key = this.path('');
    clearTimeout(LateAdapter.#late.get(key)?.timer);
    LateAdapter.#late.delete(key);
    if (!this.isLate) return super.save(catalog);
    const timer = setTimeout(() => this.#write(), LATE_MS).unref();
    LateAdapter.#late.set(key, { catalog, timer });
    this.look();
  }
  override look() {
    const late = LateAdapter.#late.get(this.path(''));
    if (!late) return super.look();
    const before = this.catalog.moves.at(-1);
    this.load(late.catalog);
    if (late.catalog.moves.at(-1)?.id !== before?.id) this.onMove();
  }
  override async close() {
    this.#write();
    await super.close();
  }
  #write() {
    const late = LateAdapter.#late.get(this.path(''));
    if (!late || this.closed) return;
    this.isLate = false;
    this.save(late.catalog);
  }
}

export const killedBugs: readonly BrokenAdapter[] = [
  {
    that: 'writes publications to the disk later',
    fails: [STORES],
    folder: class extends LateAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        this.isLate = true;
        await super.publish(dataset, options).finally(() => {
          this.isLate = false;
        });
      }
    },
  },
  {
    that: 'writes activations to the disk later',
    fails: [ACTIVATES],
    folder: class extends LateAdapter {
      override async activate(version: string) {
        this.isLate = true;
        await super.activate(version).finally(() => {
          this.isLate = false;
        });
      }
    },
  },
  {
    that: 'lists a version before it becomes current',
    fails: [STORES],
    folder: class extends FolderAdapter {
      override save(catalog: Catalog) {
        if (catalog.versions.length > this.catalog.versions.length) {
          super.save({ versions: catalog.versions, moves: this.catalog.moves });
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
        }
        super.save(catalog);
      }
    },
  },
  {
    that: 'stays locked when it is killed during a deletion',
    fails: [ACTIVATES],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        this.assertUsable();
        try {
          writeFileSync(this.path('pruning'), '', { flag: 'wx' });
        } catch {
          throw conflict('Another deletion is in progress.');
        }
        try {
          await delay(10);
          return await super.prune(keep);
        } finally {
          rmSync(this.path('pruning'), { force: true });
        }
      }
    },
  },
  {
    that: 'keeps one activation of each version when it recovers from a killed process',
    fails: [ACTIVATES],
    folder: class extends FolderAdapter {
      #mark: string | undefined;
      override async open() {
        await super.open();
        if (this.#mark) return;
        const opened = readdirSync(this.path('.')).filter((name) => name.startsWith('open-'));
        const killed = opened.filter((name) => !this.isAlive(Number(name.split('-')[1])));
        for (const name of killed) rmSync(this.path(name), { force: true });
        this.#mark = `open-${process.pid}-${randomUUID()}`;
        writeFileSync(this.path(this.#mark), '');
        const { versions, moves } = this.catalog;
        const last = new Map(moves.map((move) => [move.id, move]));
        if (killed.length > 0) this.save({ versions, moves: moves.filter((move) => last.get(move.id) === move) });
      }
      override async close() {
        await super.close();
        if (this.#mark) rmSync(this.path(this.#mark), { force: true });
      }
    },
  },
];
