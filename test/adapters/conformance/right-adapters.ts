/** Correct adapters of different kinds must pass the suite. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from '../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions, Query } from '../../../core/contracts/storage.js';
import { invalidCollection } from '../../../core/data/publishing.js';
import { StorageError } from '../../../core/errors.js';
import type { Breakage } from './breakable.js';
import { type Catalog, conflict, FolderAdapter, type Move } from './folder-adapter.js';

interface RightAdapter extends Breakage {
  readonly that: string;
}

const CAPABILITIES = { publish: true, versions: true, durable: true } as const;
const KEY_BYTES = 400;
const ROW_BYTES = 100_000;

const opened = new Set<string>();

const sizeOf = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 8);

export class ExclusiveAdapter extends FolderAdapter {
  #owns = false;
  override async open() {
    const owner = this.path('owner');
    const pid = existsSync(owner) ? Number(readFileSync(owner, 'utf8')) : undefined;
    const isOther = pid !== undefined && (pid === process.pid ? opened.has(owner) : this.isAlive(pid));
    if (!this.closed && !this.#owns && isOther) throw new StorageError('unavailable', 'The store is in use.');
    await super.open();
    writeFileSync(owner, String(process.pid));
    opened.add(owner);
    this.#owns = true;
  }
  override async close() {
    await super.close();
    if (!this.#owns) return;
    this.#owns = false;
    opened.delete(this.path('owner'));
    rmSync(this.path('owner'), { force: true });
  }
}

/** Stores only the current version. Snapshots keep replaced rows in memory. */
export class CurrentAdapter extends FolderAdapter {
  override isTaken(version: string) {
    return this.catalog.moves.at(-1)?.version === version;
  }
  override save({ versions, moves }: Catalog) {
    super.save({ versions: versions.slice(-1), moves: moves.slice(-1) });
  }
}

export const rightAdapters: readonly RightAdapter[] = [
  { that: 'keeps its data in memory' },
  { that: 'stores its data in SQLite', sqlite: {} },
  { that: 'stores its data in a folder', folder: FolderAdapter },
  {
    that: 'notices changes after a second',
    capabilities: { ...CAPABILITIES, follows: { withinMs: 2500, pollMs: 1000 } },
    folder: class extends FolderAdapter {
      override pollMs = 1000;
    },
  },
  {
    that: 'does not notice changes of other adapters',
    capabilities: { ...CAPABILITIES, follows: false },
    folder: class extends FolderAdapter {
      override startTimer() {
        return undefined;
      }
    },
  },
  {
    that: 'has an exclusive store',
    capabilities: { ...CAPABILITIES, exclusive: true },
    folder: ExclusiveAdapter,
  },
  {
    that: 'stores only the current version',
    capabilities: { ...CAPABILITIES, versions: false, follows: { withinMs: 500, pollMs: 20 } },
    folder: CurrentAdapter,
  },
  {
    that: 'stores only the current version, and does not notice changes of other adapters',
    capabilities: { ...CAPABILITIES, versions: false, follows: false },
    folder: class extends CurrentAdapter {
      override startTimer() {
        return undefined;
      }
    },
  },
  {
    that: 'limits the size of keys and rows',
    capabilities: { ...CAPABILITIES, limits: { keyBytes: KEY_BYTES, rowBytes: ROW_BYTES } },
    folder: class extends FolderAdapter {
      override encode(document: Document, name: string) {
        const collection = this.context.collections.get(name)!;
        const text = super.encode(document, name);
        const orders = [collection.key, ...(collection.orders ?? [])];
        const sizes = orders.map((order) => order.reduce((sum, field) => sum + sizeOf(document[field]), 0));
        if (Math.max(...sizes) <= KEY_BYTES && Buffer.byteLength(text) <= ROW_BYTES) return text;
        throw invalidCollection(collection, 'a row is too long');
      }
    },
  },
  {
    that: 'waits for other publications',
    capabilities: CAPABILITIES,
    folder: class extends FolderAdapter {
      #last: Promise<unknown> = Promise.resolve();
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        this.assertUsable();
        let isWaiting = true;
        const publication = this.#last.then(() => {
          isWaiting = false;
          return super.publish(dataset, options);
        });
        this.#last = publication.catch(() => undefined);
        const { signal } = options;
        if (!signal) return publication;
        let abort: () => unknown = () => {};
        const aborted = new Promise<never>((_, reject) => {
          abort = () => isWaiting && reject(new StorageError('aborted', 'The publication was aborted.'));
        });
        signal.addEventListener('abort', abort);
        try {
          await Promise.race([publication, aborted]);
        } finally {
          signal.removeEventListener('abort', abort);
        }
      }
      override async lock(options: PublishOptions) {
        for (let i = 0; ; i++) {
          try {
            return await super.lock(options);
          } catch (error) {
            if (i === 0) options.onWait?.('Another adapter is publishing.');
            if (i > 1000) throw error;
            this.assertUsable(options.signal);
            await delay(20);
          }
        }
      }
    },
  },
  {
    that: 'accepts the same content again',
    folder: class extends FolderAdapter {
      override async onTaken(dataset: Dataset) {
        const stored = this.catalog.versions.find(({ version }) => version === dataset.manifest.version)!;
        const content = await this.readAll(dataset, {});
        const isSame = JSON.stringify(content) === JSON.stringify(this.contentOf(stored.id));
        if (!isSame) await super.onTaken(dataset);
      }
    },
  },
  {
    that: 'reads slowly and in small batches',
    folder: class extends FolderAdapter {
      override async *findRows(rowsOf: () => readonly Document[], query: Query) {
        const found = this.matching(rowsOf(), query);
        for (let start = 0; start < found.length; start += 333) {
          await new Promise(setImmediate);
          rowsOf();
          yield found.slice(start, start + 333);
        }
      }
    },
  },
];

const lastUses = new Map<string, { readonly by: FolderAdapter; readonly at: number }>();
const LINGER_MS = 300;

export const slowAdapters: readonly (RightAdapter & { readonly rules: readonly string[] })[] = [
  {
    that: 'keeps versions for a while after another adapter has released them',
    rules: [
      'another adapter over the same store lists and reads the versions that the first one activates and deletes',
      'several adapters over the same store make changes on top of the changes of others that they have not noticed yet',
      'an adapter, before it notices a change counts the version that another adapter has just published',
    ],
    folder: class extends FolderAdapter {
      override hold(move: Move) {
        this.use(move);
        return super.hold(move);
      }
      override load(catalog: Catalog) {
        const before = this.catalog.moves.at(-1);
        super.load(catalog);
        if (before && before.id !== catalog.moves.at(-1)?.id) this.use(before);
      }
      use({ id }: Move) {
        lastUses.set(this.path(id), { by: this, at: performance.now() });
      }
      override isHeld(id: string): boolean {
        const last = lastUses.get(this.path(id));
        const isUsed = last !== undefined && last.by !== this && performance.now() - last.at < LINGER_MS;
        return isUsed || super.isHeld(id);
      }
    },
  },
  {
    that: 'waits before it rejects a publication, and waits longer each time',
    rules: ['a publication in progress keeps its adapter locked when other publications of the adapter were rejected'],
    folder: class extends FolderAdapter {
      #waitMs = 0;
      override async whilePublishing() {
        await delay(this.#waitMs);
        this.#waitMs += 400;
        throw conflict('Another publication is in progress.');
      }
    },
  },
];
