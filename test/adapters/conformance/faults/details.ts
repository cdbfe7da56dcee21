/** Defines adapters that handle details of a dataset incorrectly, or calls that overlap with a change. */
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import type { Document, Manifest } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { type Content, conflict, FolderAdapter } from '../folder-adapter.js';
import { ExclusiveAdapter } from '../right-adapters.js';
import type { BrokenAdapter } from './breaking.js';

const OPEN = 'the adapter has no more open files, timers and listeners after many calls';
const SEQUENCES = 'any sequence of publications, activations, deletions and reads has the same result as the model';
const SIMILAR = 'versions with similar or equal rows are each published whole';
const EXCLUSIVE =
  'another adapter over the same store can open an exclusive store after one that was closed during a publication, ' +
  'with snapshots in use';

let publishingNow = false;

type Row = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

const merged = (old: unknown, next: unknown): unknown =>
  isObject(old) && isObject(next)
    ? { ...old, ...Object.fromEntries(Object.entries(next).map(([name, value]) => [name, merged(old[name], value)])) }
    : next;

/** If the current version has a row with the same key, publishes the result of `reuse` instead of the new row. */
const reusing = (reuse: (old: Row, next: Row) => Row): typeof FolderAdapter =>
  class extends FolderAdapter {
    override commit(manifest: Manifest, content: Content) {
      const current = this.catalog.moves.at(-1);
      const old = current && this.contentOf(current.id);
      const reused = Object.entries(content).map(([name, rows]): [string, readonly Document[]] => {
        const fields = this.context.collections.get(name)!.key;
        const keyOf = (row: Row) => JSON.stringify(fields.map((field) => row[field]));
        const byKey = new Map(old?.[name]?.map((row) => [keyOf(row), row]));
        return [name, rows.map((row) => (byKey.has(keyOf(row)) ? reuse(byKey.get(keyOf(row))!, row) : row))];
      });
      super.commit(manifest, Object.fromEntries(reused));
    }
  };

const every = (old: Row, next: Row, isSame: (one: unknown, other: unknown) => boolean): boolean =>
  Object.keys({ ...old, ...next }).every((name) => isSame(old[name], next[name]));

const isNear = (one: unknown, other: unknown): boolean =>
  typeof one === 'number' && typeof other === 'number'
    ? Math.abs(one - other) < 1e-9
    : JSON.stringify(one) === JSON.stringify(other);

const isShallow = (one: unknown, other: unknown): boolean => (isObject(one) && isObject(other)) || isNear(one, other);

/** Converts errors of the dataset with `convert`. */
const converting = (convert: (cause: unknown) => StorageError | undefined): typeof FolderAdapter =>
  class extends FolderAdapter {
    override async *batchesOf(dataset: Dataset, name: string) {
      try {
        yield* super.batchesOf(dataset, name);
      } catch (error) {
        throw convert((error as Error).cause) ?? error;
      }
    }
  };

export const detailBugs: readonly BrokenAdapter[] = [
  {
    that: 'merges nested objects with the objects of the current version',
    fails: [SIMILAR],
    folder: reusing(
      (old, next) =>
        Object.fromEntries(Object.entries(next).map(([name, value]) => [name, merged(old[name], value)])) as Row,
    ),
  },
  {
    that: 'does not compare nested objects with the current version',
    fails: [SIMILAR],
    folder: reusing((old, next) => (every(old, next, isShallow) ? old : next)),
  },
  {
    that: 'treats null and absent fields as equal when it compares versions',
    fails: [SIMILAR],
    folder: reusing((old, next) => (every(old, next, (a, b) => isNear(a ?? null, b ?? null)) ? old : next)),
  },
  {
    that: 'treats almost equal numbers as equal when it compares versions',
    fails: [SIMILAR],
    folder: reusing((old, next) => (every(old, next, isNear) ? old : next)),
  },
  {
    that: 'takes an AbortError of the dataset for an abort of the publication',
    fails: ['a failed publication rejects with invalid_dataset and the original error, whatever the dataset throws'],
    folder: converting((cause) =>
      cause instanceof DOMException ? new StorageError('aborted', 'The publication was aborted.') : undefined,
    ),
  },
  {
    that: 'takes a broken connection of the dataset for an outage of the store',
    fails: ['a failed publication rejects with invalid_dataset and the original error, whatever the dataset throws'],
    folder: converting((cause) =>
      (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET'
        ? new StorageError('unavailable', 'The store is unreachable.')
        : undefined,
    ),
  },
  {
    that: 'activates a version that is being published',
    fails: ['during a publication activate() of its version waits, or rejects with unknown_version or conflict'],
    folder: class extends FolderAdapter {
      #next: string | undefined;
      override async publish(dataset: Dataset, options?: PublishOptions) {
        this.#next = dataset.manifest.version;
        await super.publish(dataset, options).finally(() => {
          this.#next = undefined;
        });
      }
      override async activate(version: string) {
        this.assertUsable();
        if (version !== this.#next || this.isTaken(version)) await super.activate(version);
      }
    },
  },
  {
    that: 'takes names that start with "tmp" for temporary',
    fails: ['versions with similar names are different versions'],
    folder: class extends FolderAdapter {
      override async list() {
        return (await super.list()).filter(({ version }) => !version.startsWith('tmp'));
      }
    },
  },
  {
    that: 'rejects list() if a version is deleted at the same time',
    fails: [SEQUENCES],
    folder: class extends FolderAdapter {
      override async list() {
        const listed = await super.list();
        const ids = this.catalog.versions.map(({ id }) => id);
        await turn();
        const isDeleted = ids.some((id) => !existsSync(this.path(`${id}.json`)));
        if (isDeleted) throw new StorageError('unavailable', 'A version cannot be read.');
        return listed;
      }
    },
  },
  {
    that: 'waits in asOf() while 50 snapshots are in use',
    fails: ['snapshot() can be taken any number of times, and each one stays readable'],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        while (this.heldSnapshots() >= 50) {
          await delay(5);
          this.assertUsable();
        }
        return super.asOf(time);
      }
    },
  },
  {
    that: 'finds collections by their position',
    fails: ['another adapter over the same store finds the whole dataset, whatever the order of its collections'],
    folder: class extends FolderAdapter {
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, Object.values(content) as unknown as Content);
      }
      override rowsOf(content: Content, name: string, signal?: AbortSignal) {
        super.rowsOf(content, name, signal);
        return content[[...this.context.collections.keys()].indexOf(name)] ?? [];
      }
    },
  },
  {
    that: 'makes a version current twice if it is activated twice at the same time',
    fails: ['versions activate() can be called twice at the same time, and calls changed() once'],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        this.assertUsable();
        this.look();
        const target = this.catalog.versions.find((each) => each.version === version);
        if (!target || target.id === this.catalog.moves.at(-1)?.id) return super.activate(version);
        await turn();
        const { versions, moves } = this.catalog;
        const isRepeated = target.id === moves.at(-1)?.id;
        this.save({ versions, moves: [...moves, { id: target.id, version, since: this.activationTime() }] });
        if (isRepeated) this.onMove();
      }
    },
  },
  {
    that: 'publishes in only one store of the process at a time',
    fails: ['during a publication another store can be published to, activated and pruned'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        this.assertUsable(options?.signal);
        if (publishingNow) throw conflict('Another publication is in progress.');
        publishingNow = true;
        await super.publish(dataset, options).finally(() => {
          publishingNow = false;
        });
      }
    },
  },
  {
    that: 'cannot store names that are longer than 255 bytes with escaped capital letters',
    fails: ['versions with similar names are different versions'],
    folder: class extends FolderAdapter {
      override commit(manifest: Manifest, content: Content) {
        const escaped = manifest.version.replace(/[A-Z]/g, (letter) => `%${letter.charCodeAt(0)}`);
        if (escaped.length > 255) throw new StorageError('unavailable', 'The name of the file is too long.');
        super.commit(manifest, content);
      }
    },
  },
  {
    that: 'leaves a file open if it cannot activate a version',
    fails: [OPEN],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        this.assertUsable();
        this.look();
        if (!this.isTaken(version)) openSync(this.path('catalog.json'), 'r');
        await super.activate(version);
      }
    },
  },
  {
    that: 'leaves a file open if no version was current at a time',
    fails: [OPEN],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        const snapshot = await super.asOf(time);
        if (!snapshot && this.stamp) openSync(this.path('catalog.json'), 'r');
        return snapshot;
      }
    },
  },
  {
    that: 'adds a listener to the process for each publication',
    fails: [OPEN],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        await super.publish(dataset, options);
        process.setMaxListeners(0).on('SIGUSR2', () => {});
      }
    },
  },
  {
    that: 'keeps an exclusive store locked if it is closed during a publication',
    fails: [EXCLUSIVE],
    capabilities: { publish: true, versions: true, exclusive: true },
    folder: class extends ExclusiveAdapter {
      override async close() {
        const owner = this.path('owner');
        const text = this.publishing && existsSync(owner) ? readFileSync(owner, 'utf8') : '';
        await super.close();
        if (text === String(process.pid)) writeFileSync(owner, String(process.ppid));
      }
    },
  },
  {
    that: 'keeps an exclusive store locked if it is closed while a snapshot is in use',
    fails: [EXCLUSIVE],
    capabilities: { publish: true, versions: true, exclusive: true },
    folder: class extends ExclusiveAdapter {
      override async close() {
        const isUsed = this.heldSnapshots() > 0;
        const wasClosed = this.closed;
        await super.close();
        if (isUsed && !wasClosed) writeFileSync(this.path('owner'), String(process.ppid));
      }
    },
  },
  {
    that: 'deletes the rows of a version before it removes the version from its list',
    fails: [
      'an adapter in another process, over the same store that is killed while it activates or deletes versions ' +
        'leaves only whole versions',
    ],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        this.assertUsable();
        this.look();
        for (const { id } of this.toPrune(keep)) rmSync(this.path(`${id}.json`), { force: true });
        await delay(20);
        return super.prune(keep);
      }
    },
  },
];
