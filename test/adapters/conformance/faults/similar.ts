import { existsSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import type { Manifest } from '../../../../core/contracts/dataset.js';
import type { StorageAdapter } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { type Catalog, type Content, FolderAdapter, type Move, type Stored } from '../folder-adapter.js';
import { ExclusiveAdapter } from '../right-adapters.js';
import type { BrokenAdapter } from './breaking.js';

const similar = (rule: string) => `versions with similar or equal rows ${rule}`;
const unnoticed = (rule: string) => `an adapter, before it notices a change ${rule}`;
const DIFFERENT = similar('are different versions, even if only their names differ, and changed() is called for each');
const CRASHED =
  'an adapter in another process, over the same store that is killed while it stores a version leaves the previous version or the whole new one';

export const similarBugs: readonly BrokenAdapter[] = [
  {
    that: 'caches rows by the time of creation',
    fails: [similar('are each published whole')],
    folder: class extends FolderAdapter {
      readonly #byCreated = new Map<string, Content>();
      override contentOf(id: string) {
        const { manifest } = this.catalog.versions.find((each) => each.id === id)!;
        const content = this.#byCreated.get(manifest.created) ?? super.contentOf(id);
        this.#byCreated.set(manifest.created, content);
        return content;
      }
    },
  },
  {
    that: 'keeps the rows of a collection if their number, the first and the last are unchanged',
    fails: [similar('are each published whole')],
    folder: class extends FolderAdapter {
      override commit(manifest: Manifest, content: Content) {
        const last = this.catalog.moves.at(-1);
        const before = last ? this.contentOf(last.id) : {};
        const mark = (rows: Content[string] = []) => JSON.stringify([rows.length, rows[0], rows.at(-1)]);
        const kept = Object.entries(content).map(([name, rows]) => [
          name,
          mark(before[name]) === mark(rows) ? (before[name] ?? []) : rows,
        ]);
        super.commit(manifest, Object.fromEntries(kept));
      }
    },
  },
  {
    that: 'calls changed() only for versions with other rows',
    fails: [DIFFERENT],
    folder: class extends FolderAdapter {
      #rows = '';
      override onMove() {
        const rows = JSON.stringify(this.contentOf(this.catalog.moves.at(-1)!.id));
        if (rows !== this.#rows) super.onMove();
        this.#rows = rows;
      }
    },
  },
  ...(
    [
      ['by its size', ({ size }) => size],
      ['by its size and its time in seconds', ({ size, mtimeMs }) => `${size} ${Math.floor(mtimeMs / 1000)}`],
      ['by its time in seconds', ({ mtimeMs }) => Math.floor(mtimeMs / 1000)],
    ] satisfies [string, (file: Stats) => unknown][]
  ).map(([how, stampOf]) => ({
    that: `notices a change of its catalog only ${how}`,
    fails: [similar('are noticed by another adapter if they replace one of the same size within a second')],
    folder: class extends FolderAdapter {
      #seen: unknown;
      /** Activations of deleted versions are removed, so that the catalog does not grow. */
      override save({ versions, moves }: Catalog) {
        super.save({ versions, moves: moves.filter(({ id }) => versions.some((each) => each.id === id)) });
      }
      override startTimer() {
        return setInterval(() => this.#lookIfChanged(), this.pollMs).unref();
      }
      #lookIfChanged() {
        const file = statSync(this.path('catalog.json'), { throwIfNoEntry: false });
        const seen = file && stampOf(file);
        if (seen !== this.#seen) this.look();
        this.#seen = seen;
      }
    },
  })),
  {
    that: 'keeps rows of a deleted version for a version with its name',
    fails: [similar('contain nothing of a deleted version with the same name')],
    folder: class extends FolderAdapter {
      readonly #deleted = new Map<string, Content>();
      override remove(pruned: readonly Stored[]) {
        for (const { id, version } of pruned) this.#deleted.set(version, this.contentOf(id));
        super.remove(pruned);
      }
      override commit(manifest: Manifest, content: Content) {
        const before = this.#deleted.get(manifest.version) ?? {};
        const names = Object.keys(content).map((name) => [
          name,
          content[name]!.length > 0 ? content[name]! : (before[name] ?? []),
        ]);
        super.commit(manifest, Object.fromEntries(names));
      }
    },
  },
  {
    that: 'stores equal rows once, and deletes them with the first version that uses them',
    fails: [similar('are deleted independently')],
    folder: class extends FolderAdapter {
      readonly #files = new Map<string, string>();
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, content);
        const { id } = this.catalog.versions.at(-1)!;
        const rows = JSON.stringify(content);
        const shared = this.#files.get(rows);
        this.#files.set(rows, shared ?? id);
        if (shared === undefined) return;
        writeFileSync(this.path(`${id}.json`), JSON.stringify({ shared }));
      }
      override contentOf(id: string): Content {
        const content = super.contentOf(id) as Content & { shared?: string };
        return content.shared === undefined ? content : super.contentOf(content.shared);
      }
      override remove(pruned: readonly Stored[]) {
        super.remove(pruned);
        for (const { id } of pruned) this.contents.delete(id);
      }
    },
  },
];

class Unaware extends FolderAdapter {
  override pollMs = 400;
  isStale = false;
  override look() {
    if (!this.isStale) super.look();
  }
  stale<T>(work: () => T): T {
    this.isStale = true;
    try {
      return work();
    } finally {
      this.isStale = false;
    }
  }
}

export const unnoticedBugs: readonly BrokenAdapter[] = [
  {
    that: 'activates only versions that it has noticed',
    fails: [
      unnoticed('activates a version that another adapter has just published'),
      unnoticed('does not activate a version that another adapter has just deleted'),
    ],
    folder: class extends Unaware {
      override async activate(version: string) {
        const target = this.catalog.versions.find((each) => each.version === version);
        if (!target) throw new StorageError('unknown_version', `The version "${version}" does not exist.`);
        this.look();
        const { versions, moves } = this.catalog;
        this.save({ versions, moves: [...moves, { id: target.id, version, since: this.activationTime() }] });
      }
    },
  },
  {
    that: 'keeps the version that it serves, instead of the current one',
    fails: [unnoticed('does not delete the version that another adapter has just activated')],
    folder: class extends Unaware {
      override async prune(keep: number) {
        const served = this.catalog.moves.at(-1);
        this.look();
        const { versions, moves } = this.catalog;
        const older = versions.slice(0, Math.max(0, versions.length - keep));
        const pruned = older.filter(({ id }) => id !== served?.id && !this.isHeld(id));
        this.save({ versions: versions.filter((each) => !pruned.includes(each)), moves });
        return pruned.map(({ version }) => version);
      }
    },
  },
  {
    that: 'publishes later than the version that it serves, instead of the current one',
    fails: [
      unnoticed('publishes later than the version that another adapter has just published'),
      unnoticed('publishes later than the version that another adapter has just activated'),
    ],
    folder: class extends Unaware {
      #last: Date | undefined;
      override async publish(...given: Parameters<FolderAdapter['publish']>) {
        this.#last = super.lastMove();
        await super.publish(...given).finally(() => {
          this.#last = undefined;
        });
      }
      override lastMove() {
        return this.#last ?? super.lastMove();
      }
    },
  },
  {
    that: 'calls changed() once for each change since its last look',
    fails: [
      'another adapter over the same store calls changed() at most once for each version, even if several follow quickly',
    ],
    folder: class extends FolderAdapter {
      override pollMs = 200;
      override load(catalog: Catalog) {
        const before = this.catalog.moves.length;
        super.load(catalog);
        if (before === 0) return;
        for (let i = before + 1; i < catalog.moves.length; i++) this.context.changed();
      }
    },
  },
];

export const crashBugs: readonly BrokenAdapter[] = [
  {
    that: 'makes a version current before it has stored the rows',
    fails: [CRASHED],
    folder: class extends FolderAdapter {
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, content);
        const file = this.path(`${this.catalog.moves.at(-1)!.id}.json`);
        const text = JSON.stringify(content);
        rmSync(file);
        for (let start = 0; start < text.length; start += 500) {
          writeFileSync(file, text.slice(start, start + 500), { flag: 'a' });
        }
      }
    },
  },
];

/** Calls `work` only once and reuses its promise, so that a failure is repeated forever. */
const remembering = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let first: Promise<T> | undefined;
  return () => {
    first ??= work();
    return first;
  };
};

export const openingBugs: readonly BrokenAdapter[] = [
  {
    that: 'remembers that open() has rejected a dataset',
    fails: ['an invalid dataset in the store makes open() reject only until another adapter has replaced it'],
    files: true,
    fault: ({ open }) => ({ open: remembering(open) }),
  },
  {
    that: 'remembers that another adapter has locked its exclusive store',
    fails: [
      'another adapter over the same store cannot open an exclusive store, and can open it when the first one is closed',
    ],
    capabilities: { publish: true, versions: true, exclusive: true },
    folder: class extends ExclusiveAdapter {
      readonly #open = remembering(() => super.open());
      override open() {
        return this.#open();
      }
    },
  },
  {
    that: 'removes the drafts of other adapters when it is opened',
    fails: ['a publication in progress succeeds while other adapters are opened, read and closed'],
    folder: class extends FolderAdapter {
      override async open() {
        if (this.timer === undefined) rmSync(this.path('draft'), { force: true });
        await super.open();
      }
      override async readAll(...given: Parameters<FolderAdapter['readAll']>) {
        writeFileSync(this.path('draft'), '');
        const content = await super.readAll(...given);
        rmSync(this.path('draft'));
        return content;
      }
    },
  },
  {
    that: 'has at most 100 open snapshots',
    fails: ['snapshot() can be taken any number of times, and each one stays readable'],
    folder: class extends FolderAdapter {
      override hold(move: Move) {
        if (this.heldSnapshots() >= 100) throw new StorageError('unavailable', 'There are too many open snapshots.');
        return super.hold(move);
      }
    },
  },
];

const auditing = (
  that: string,
  fails: readonly string[],
  change: (entries: Awaited<ReturnType<NonNullable<StorageAdapter['audit']>['list']>>) => unknown[],
): BrokenAdapter => ({
  that,
  fails,
  database: true,
  fault: ({ audit }) => ({ audit: { ...audit!, list: async () => change(await audit!.list()) as never } }),
});

export const entryBugs: readonly BrokenAdapter[] = [
  auditing(
    'lists the last 50 entries of its audit',
    ['audit list() returns an entry for each of many publications'],
    (entries) => entries.slice(-50),
  ),
  auditing(
    'lists entries with the time of another day',
    ['audit list() includes each publication with the version it replaced, its time and its user'],
    (entries) => entries.map((entry) => ({ ...entry, time: '2024-02-01T00:00:00Z' })),
  ),
  {
    that: 'reports an activation of an older version as an error',
    fails: ['audit verify() finds no errors after any change'],
    database: true,
    fault: ({ audit }) => ({
      audit: {
        ...audit!,
        async verify(expected) {
          const verified = await audit!.verify(expected);
          const isActivated = (await audit!.list()).at(-1)?.action === 'activate';
          return isActivated ? { ...verified, faults: ['The newest version is not current.'] } : verified;
        },
      },
    }),
  },
  {
    that: 'records a publication before it has read the dataset, and keeps the entry if its process is killed',
    fails: [
      'an adapter in another process, over the same store that is killed during a publication leaves no entry in the audit',
    ],
    database: true,
    fault: ({ publish, audit }, context) => {
      const file = context.resolvePath('pending');
      return {
        async publish(dataset, options) {
          const { version } = dataset.manifest;
          writeFileSync(`${file}-${version}`, '');
          await publish!(dataset, options).finally(() => rmSync(`${file}-${version}`, { force: true }));
        },
        audit: {
          ...audit!,
          async list() {
            const entries = await audit!.list();
            const isPending = existsSync(`${file}-second-2`);
            return isPending ? [{ ...entries[0]!, version: 'second-2' }, ...entries] : entries;
          },
        },
      };
    },
  },
];
