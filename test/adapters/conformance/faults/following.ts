import { existsSync, readFileSync } from 'node:fs';
import { type Catalog, conflict, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

export const followingBugs: readonly BrokenAdapter[] = [
  {
    that: 'checks its store only when snapshot() is called',
    fails: [
      'another adapter over the same store notices what the first one publishes, even if none of its methods are called',
    ],
    folder: class extends FolderAdapter {
      override startTimer() {
        return undefined;
      }
      override snapshot() {
        this.look();
        return super.snapshot();
      }
    },
  },
  {
    that: 'checks its store only when it is pinged or listed',
    fails: [
      'another adapter over the same store notices what the first one publishes, even if none of its methods are called',
    ],
    folder: class extends FolderAdapter {
      override startTimer() {
        return undefined;
      }
      override async ping(signal?: AbortSignal) {
        this.look();
        await super.ping(signal);
      }
    },
  },
  {
    that: 'calls changed() after publish() has resolved',
    fails: ['changed() is called once for each publication, when snapshot() already returns it'],
    folder: class extends FolderAdapter {
      override onMove() {
        setTimeout(() => this.closed || super.onMove(), 20);
      }
    },
  },
  {
    that: 'calls changed() before it has switched to the version',
    fails: ['changed() is called once for each publication, when snapshot() already returns it'],
    folder: class extends FolderAdapter {
      override load(catalog: Catalog) {
        if (catalog.moves.at(-1)?.id !== this.catalog.moves.at(-1)?.id) this.context.changed();
        super.load(catalog);
      }
      override onMove() {}
    },
  },
  {
    that: 'stops following after one of its own publications has failed',
    fails: ['another adapter over the same store notices a publication after one of its own has failed'],
    folder: class extends FolderAdapter {
      override async publish(...given: Parameters<FolderAdapter['publish']>) {
        await super.publish(...given).catch((error) => {
          clearInterval(this.timer);
          throw error;
        });
      }
    },
  },
  {
    that: 'misses the changes that other adapters make while it publishes',
    fails: ['another adapter over the same store notices an activation during a publication of its own that fails'],
    folder: class extends FolderAdapter {
      override look() {
        if (!this.publishing) super.look();
      }
      override async publish(...given: Parameters<FolderAdapter['publish']>) {
        try {
          await super.publish(...given);
        } finally {
          this.publishing = false;
          const silent = this.onMove;
          if (this.catalog.versions.length > 0) this.onMove = () => {};
          super.look();
          this.onMove = silent;
        }
      }
    },
  },
  {
    that: 'does not call changed() when another adapter activates a version',
    fails: ['changed() is called once for each activation, and not if the version is already current'],
    folder: class extends FolderAdapter {
      #moves = 0;
      override load(catalog: Catalog) {
        const isNew = catalog.versions.length !== this.catalog.versions.length;
        super.load(catalog);
        this.#moves = isNew ? 1 : 0;
      }
      override async activate(version: string) {
        await super.activate(version);
        this.context.changed();
      }
      override onMove() {
        if (this.#moves) super.onMove();
      }
    },
  },
  {
    that: 'does not follow another adapter to an earlier version',
    fails: ['another adapter over the same store notices an activation during a publication of its own that fails'],
    folder: class extends FolderAdapter {
      #own = false;
      override async activate(version: string) {
        this.#own = true;
        await super.activate(version);
        this.#own = false;
      }
      override load(catalog: Catalog) {
        const isEarlier =
          catalog.moves.length > this.catalog.moves.length + 1 ||
          catalog.versions.length > this.catalog.versions.length;
        super.load(
          this.#own || isEarlier || this.catalog.moves.length === 0
            ? catalog
            : { ...catalog, moves: this.catalog.moves },
        );
      }
    },
  },
  {
    that: 'calls changed() after a publication that failed',
    fails: ['changed() is not called for a publication that fails'],
    folder: class extends FolderAdapter {
      override async publish(...given: Parameters<FolderAdapter['publish']>) {
        await super.publish(...given).catch((error) => {
          if (!this.closed && this.catalog.moves.length > 0) this.context.changed();
          throw error;
        });
      }
    },
  },
  {
    that: 'calls changed() after a publication that was rejected with conflict',
    fails: ['changed() is not called for a publication that fails'],
    folder: class extends FolderAdapter {
      override async onTaken(...given: Parameters<FolderAdapter['onTaken']>) {
        this.context.changed();
        await super.onTaken(...given);
      }
    },
  },
  {
    that: 'calls changed() when it prunes',
    fails: ['changed() is not called by prune(), list() and asOf()'],
    folder: class extends FolderAdapter {
      override remove(...given: Parameters<FolderAdapter['remove']>) {
        super.remove(...given);
        this.context.changed();
      }
    },
  },
  {
    that: 'calls changed() when it is closed',
    fails: ['changed() is not called by open(), ping() and close(), nor after them'],
    folder: class extends FolderAdapter {
      override async close() {
        const was = this.closed;
        await super.close();
        if (!was) this.context.changed();
      }
    },
  },
  {
    that: 'follows other adapters after it was closed',
    fails: ['another adapter over the same store no longer calls changed() after it has been closed'],
    folder: class extends FolderAdapter {
      override async close() {
        this.closed = true;
      }
      override look() {
        const { closed } = this;
        this.closed = false;
        super.look();
        this.closed = closed;
      }
    },
  },
  {
    that: 'calls changed() twice for each change',
    fails: ['changed() is called once for each publication, when snapshot() already returns it'],
    folder: class extends FolderAdapter {
      override onMove() {
        super.onMove();
        super.onMove();
      }
    },
  },
  {
    that: 'calls changed() at every poll',
    fails: ['changed() is not called by open(), ping() and close(), nor after them'],
    folder: class extends FolderAdapter {
      override startTimer() {
        return setInterval(() => {
          this.look();
          if (!this.closed && this.catalog.moves.length > 0) this.context.changed();
        }, 20).unref();
      }
    },
  },
  {
    that: 'calls changed() when a version that it serves is activated again',
    fails: ['changed() is called once for each activation, and not if the version is already current'],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        const before = this.catalog.moves.length;
        await super.activate(version);
        if (this.catalog.moves.length === before) this.context.changed();
      }
    },
  },
  {
    that: 'calls changed() whenever the catalog has changed',
    fails: ['changed() is not called by prune(), list() and asOf()'],
    folder: class extends FolderAdapter {
      override load(catalog: Catalog) {
        const isSame = catalog.moves.at(-1)?.id === this.catalog.moves.at(-1)?.id;
        super.load(catalog);
        if (isSame) this.context.changed();
      }
    },
  },
  {
    that: 'calls changed() only for the first publication',
    fails: ['changed() is called once for each publication, when snapshot() already returns it'],
    folder: class extends FolderAdapter {
      override onMove() {
        if (this.catalog.moves.length < 3) super.onMove();
      }
    },
  },
  {
    that: 'does not call changed() for the first publication of an empty store by another adapter',
    fails: ['another adapter over the same store notices the first publication in an empty store'],
    folder: class extends FolderAdapter {
      #own = false;
      override async publish(...given: Parameters<FolderAdapter['publish']>) {
        this.#own = true;
        await super.publish(...given).finally(() => {
          this.#own = false;
        });
      }
      override onMove() {
        if (this.#own || this.catalog.moves.length > 1) super.onMove();
      }
    },
  },
  {
    that: 'does not call changed() while a snapshot is in use',
    fails: [
      'another adapter over the same store notices what the first one publishes, calls changed(), and keeps its snapshots readable',
    ],
    folder: class extends FolderAdapter {
      override onMove() {
        if (this.heldSnapshots() === 0) super.onMove();
      }
    },
  },
  {
    that: 'follows only until its next publication',
    fails: ['another adapter over the same store publishes after the first one, and each of them notices the other'],
    folder: class extends FolderAdapter {
      override commit(...given: Parameters<FolderAdapter['commit']>) {
        if (this.catalog.moves.length > 0 && this.timer) clearInterval(this.timer);
        super.commit(...given);
      }
    },
  },
  {
    that: 'notices changes by other adapters only after a minute',
    fails: [
      'another adapter over the same store notices what the first one publishes, even if none of its methods are called',
    ],
    folder: class extends FolderAdapter {
      override pollMs = 60_000;
    },
  },
  {
    that: 'serves a followed version but does not list it',
    fails: ['another adapter over the same store lists and reads the versions that the first one publishes'],
    folder: class extends FolderAdapter {
      #own = new Set<string>();
      override commit(...given: Parameters<FolderAdapter['commit']>) {
        this.#own.add(given[0].version);
        super.commit(...given);
      }
      override async open() {
        await super.open();
        for (const { version } of this.catalog.versions) this.#own.add(version);
      }
      override async list() {
        return (await super.list()).filter(({ version }) => this.#own.has(version));
      }
    },
  },
  {
    that: 'finds no version of asOf() that another adapter published',
    fails: ['another adapter over the same store lists and reads the versions that the first one publishes'],
    folder: class extends FolderAdapter {
      #known: Catalog['moves'] | undefined;
      override async open() {
        await super.open();
        this.#known ??= this.catalog.moves;
      }
      override save(catalog: Catalog) {
        this.#known = catalog.moves;
        super.save(catalog);
      }
      override moveAt(time: Date) {
        return (this.#known ?? []).findLast(({ since }) => new Date(since) <= time);
      }
    },
  },
];

const memoryOf = new Map<string, Catalog>();
const opened = new Map<string, number>();

/** Loses a part of the catalog when it opens the store, unless another adapter in this process has the store open. */
const forgetting = (forget: (catalog: Catalog) => Catalog) =>
  class extends FolderAdapter {
    #isCounted = false;
    override async open() {
      const folder = this.path('.');
      const file = this.path('catalog.json');
      if (!this.#isCounted && !opened.get(folder) && existsSync(file)) {
        this.save(forget(JSON.parse(readFileSync(file, 'utf8'))));
      }
      if (!this.#isCounted) opened.set(folder, (opened.get(folder) ?? 0) + 1);
      this.#isCounted = true;
      await super.open();
    }
    override async close() {
      const folder = this.path('.');
      if (this.#isCounted) opened.set(folder, opened.get(folder)! - 1);
      this.#isCounted = false;
      await super.close();
    }
  };

export const durabilityBugs: readonly BrokenAdapter[] = [
  {
    that: 'forgets all but the current version when it is closed',
    fails: ['after every adapter was closed list() returns every version in the order of publication, with its time'],
    folder: forgetting(({ versions, moves }) => ({
      versions: versions.filter(({ id }) => id === moves.at(-1)?.id),
      moves: moves.slice(-1),
    })),
  },
  {
    that: 'forgets activations when it is closed',
    fails: ['after every adapter was closed the current version is the one that was activated last, with its time'],
    folder: forgetting(({ versions }) => ({
      versions,
      moves: versions.map(({ id, version, publishedAt }) => ({ id, version, since: publishedAt })),
    })),
  },
  {
    that: 'forgets which version was current at earlier times when it is closed',
    fails: ['after every adapter was closed asOf() returns what was current at every time, with all rows'],
    folder: forgetting(({ versions, moves }) => ({ versions, moves: moves.slice(-1) })),
  },
  {
    that: 'makes the newest version current when it opens',
    fails: ['after every adapter was closed the current version is the one that was activated last, with its time'],
    folder: forgetting(({ versions, moves }) => {
      const last = versions.at(-1)!;
      return { versions, moves: [...moves, { id: last.id, version: last.version, since: moves.at(-1)!.since }] };
    }),
  },
  {
    that: 'sorts versions by name when it opens',
    fails: ['after every adapter was closed list() returns every version in the order of publication, with its time'],
    folder: forgetting(({ versions, moves }) => ({
      versions: versions.toSorted((a, b) => (a.version < b.version ? -1 : 1)),
      moves,
    })),
  },
  {
    that: 'restores deleted versions when it opens',
    fails: ['after every adapter was closed deleted versions stay deleted, and nothing is held'],
    folder: class extends forgetting((catalog) => catalog) {
      override remove(pruned: FolderAdapter['catalog']['versions']) {
        memoryOf.set(this.path('.'), this.catalog);
        const { versions, moves } = this.catalog;
        this.save({ versions: versions.filter((each) => !pruned.includes(each)), moves });
      }
      override async open() {
        const kept = memoryOf.get(this.path('.'));
        if (kept && !opened.get(this.path('.'))) {
          const now = JSON.parse(readFileSync(this.path('catalog.json'), 'utf8')) as Catalog;
          const lost = kept.versions.filter(({ id }) => !now.versions.some((each) => each.id === id));
          this.save({ versions: [...lost, ...now.versions], moves: now.moves });
        }
        await super.open();
      }
    },
  },
  {
    that: 'derives publication times from the time of opening',
    fails: ['after every adapter was closed list() returns every version in the order of publication, with its time'],
    folder: forgetting(({ versions, moves }) => ({
      versions: versions.map((each, i) => ({ ...each, publishedAt: new Date(Date.now() + i).toISOString() })),
      moves,
    })),
  },
  {
    that: 'accepts an existing version again after it was closed',
    fails: ['after every adapter was closed the names of all versions are in use'],
    folder: class extends FolderAdapter {
      readonly #mine = new Set<string>();
      override isTaken(version: string) {
        return this.#mine.has(version) && super.isTaken(version);
      }
      override commit(...given: Parameters<FolderAdapter['commit']>) {
        this.#mine.add(given[0].version);
        super.commit(...given);
      }
    },
  },
  {
    that: 'opens a store only once',
    fails: ['after every adapter was closed the store can be opened and published to any number of times'],
    folder: class extends FolderAdapter {
      override async open() {
        const folder = this.path('.');
        const times = (opened.get(`times ${folder}`) ?? 0) + (this.timer ? 0 : 1);
        opened.set(`times ${folder}`, times);
        if (times > 2) throw conflict('The store was not closed properly.');
        await super.open();
      }
    },
  },
  {
    that: 'loses the rows of older versions when it is closed',
    fails: ['after every adapter was closed asOf() returns what was current at every time, with all rows'],
    folder: class extends FolderAdapter {
      #lost = new Set<string>();
      override async open() {
        await super.open();
        const { versions, moves } = this.catalog;
        if (!opened.get(`rows ${this.path('.')}`)) for (const { id } of versions) this.#lost.add(id);
        this.#lost.delete(moves.at(-1)?.id ?? '');
        opened.set(`rows ${this.path('.')}`, 1);
      }
      override async close() {
        await super.close();
        opened.set(`rows ${this.path('.')}`, 0);
      }
      override contentOf(id: string) {
        return this.#lost.has(id) ? {} : super.contentOf(id);
      }
    },
  },
];
