import type { Query } from '../../../../core/contracts/storage.js';
import { type Catalog, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const MANY = 'versions asOf() returns what was current between any number of activations';
const MANY_VERSIONS = 'versions are listed, read, activated and deleted, whatever their number';
const REUSED = 'versions with a reused name are listed and read at the time of their last publication';

const keepingMoves = (count: number) =>
  class extends FolderAdapter {
    override save({ versions, moves }: Catalog) {
      super.save({ versions, moves: moves.slice(-count) });
    }
  };

export const moveBugs: readonly BrokenAdapter[] = [
  {
    that: 'releases the lock of a snapshot when a list of it has been read',
    fails: ['versions prune() keeps the version of snapshot() while all its collections are read'],
    folder: class extends FolderAdapter {
      override async *findRows(...given: Parameters<FolderAdapter['findRows']>) {
        yield* super.findRows(...given);
        this.holds.clear();
      }
    },
  },
  {
    that: 'releases the lock of asOf() when its first collection has been read',
    fails: ['versions prune() keeps the version of asOf() while all its collections are read'],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        const snapshot = await super.asOf(time);
        if (!snapshot) return undefined;
        const find = (name: string, query: Query) => {
          if (name !== 'items') snapshot.release();
          return this.findRows(() => this.rowsOf(this.contentOf(this.moveAt(time)!.id), name), query);
        };
        return { ...snapshot, find };
      }
    },
  },
  {
    that: 'lists the newest 200 versions',
    fails: [MANY_VERSIONS],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).slice(0, 200);
      }
    },
  },
  {
    that: 'deletes at most 250 versions',
    fails: [MANY_VERSIONS],
    folder: class extends FolderAdapter {
      #count = 250;
      override toPrune(keep: number) {
        const pruned = super.toPrune(keep).slice(0, this.#count);
        this.#count -= pruned.length;
        return pruned;
      }
    },
  },
  {
    that: 'numbers its versions with one byte',
    fails: [MANY_VERSIONS],
    folder: class extends FolderAdapter {
      override newId() {
        return `v${this.catalog.moves.length % 256}`;
      }
    },
  },
  { that: 'keeps the last 50 moves', fails: [MANY], folder: keepingMoves(50) },
  { that: 'keeps the last 1,000 moves', fails: [MANY], folder: keepingMoves(1000) },
  {
    that: 'lists a reused name with its first publication time',
    fails: ['versions may reuse the name of a deleted version for different rows'],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).map((each) => {
          const { since } = this.catalog.moves.find(({ version }) => version === each.version)!;
          return { ...each, publishedAt: new Date(since) };
        });
      }
    },
  },
  {
    that: 'lists a reused name at its first place',
    fails: [REUSED],
    folder: class extends FolderAdapter {
      override async list() {
        const { moves } = this.catalog;
        const place = ({ version }: { version: string }) => moves.findIndex((move) => move.version === version);
        const listed = await super.list();
        return listed.length > 2 ? listed.toSorted((a, b) => place(b) - place(a)) : listed;
      }
    },
  },
  {
    that: 'answers asOf() from the catalog that it has read when it was opened',
    fails: [
      'another adapter over the same store lists and reads the versions that the first one activates and deletes',
    ],
    folder: class extends FolderAdapter {
      #opened: Catalog | undefined;
      override async asOf(time: Date) {
        const { catalog } = this;
        const published = this.#opened?.versions.length === catalog.versions.length;
        if (!published) this.#opened = catalog;
        this.catalog = this.#opened!;
        const move = this.moveAt(time);
        this.catalog = catalog;
        this.assertUsable();
        return move && this.hold(move);
      }
      override async activate(version: string) {
        await super.activate(version);
        this.#opened = this.catalog;
      }
    },
  },
  {
    that: 'lists the versions that other adapters have deleted',
    fails: [
      'another adapter over the same store lists and reads the versions that the first one activates and deletes',
    ],
    folder: class extends FolderAdapter {
      #isPruning = false;
      override remove(...given: Parameters<FolderAdapter['remove']>) {
        this.#isPruning = true;
        super.remove(...given);
        this.#isPruning = false;
      }
      override load(catalog: Catalog) {
        const isShorter = catalog.versions.length < this.catalog.versions.length;
        super.load(isShorter && !this.#isPruning ? { ...catalog, versions: this.catalog.versions } : catalog);
      }
    },
  },
];
