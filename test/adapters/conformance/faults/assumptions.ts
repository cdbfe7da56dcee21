/** Adapters that rely on assumptions about data, callers or timing. Each assumption is usually true, but not always. */
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Document, Manifest } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions, Query, Scalar } from '../../../../core/contracts/storage.js';
import { invalidCollection } from '../../../../core/data/publishing.js';
import { StorageError } from '../../../../core/errors.js';
import { isJsonObject } from '../../../../core/validation/json.js';
import { inSnapshot } from '../breakable.js';
import { type Catalog, type Content, conflict, FolderAdapter, type Move } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const DURABLE = { publish: true, versions: true, durable: true } as const;
const OPENS = 10;

const storing = (change: (value: unknown) => unknown): typeof FolderAdapter =>
  class extends FolderAdapter {
    override encode(document: Document) {
      return JSON.stringify(JSON.parse(JSON.stringify(document), (_, value) => change(value)));
    }
  };

export const valueAssumptions: readonly BrokenAdapter[] = [
  {
    that: 'stores lists of integers in 32 bits',
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
    folder: storing((value) =>
      Array.isArray(value) && value.every(Number.isInteger) ? [...Int32Array.from(value)] : value,
    ),
  },
  {
    that: 'stores the objects of a list with the same fields',
    fails: ['reading documents keeps nested values, and the order of arrays'],
    folder: storing((value) => {
      if (!Array.isArray(value) || !value.every(isJsonObject)) return value;
      const names = new Set(value.flatMap(Object.keys));
      return value.map((each) => Object.fromEntries([...names].map((name) => [name, each[name] ?? null])));
    }),
  },
  {
    that: 'stores long strings once, by their length, start and end',
    fails: ['reading documents keeps long texts, long arrays and many fields'],
    folder: class extends FolderAdapter {
      readonly #strings = new Map<string, string>();
      override encode(document: Document) {
        return JSON.stringify(document, (_, value) => {
          if (typeof value !== 'string' || value.length < 1000) return value;
          const mark = `${value.length} ${value.slice(0, 100)} ${value.slice(-100)}`;
          if (!this.#strings.has(mark)) this.#strings.set(mark, value);
          return this.#strings.get(mark);
        });
      }
    },
  },
  {
    that: 'looks keys up by a hash of 32 bits',
    fails: ['reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns'],
    folder: class extends FolderAdapter {
      override keyText(key: readonly Scalar[]) {
        let hash = 0;
        for (const byte of Buffer.from(JSON.stringify(key))) hash = (Math.imul(hash, 31) + byte) | 0;
        return String(hash);
      }
    },
  },
  {
    that: 'sorts more than 10,000 rows by UTF-16 code unit',
    fails: ['publish(dataset) accepts any number of documents, including the sizes of pages and batches'],
    folder: class extends FolderAdapter {
      override matching(rows: readonly Document[], query: Query) {
        const found = super.matching(rows, query);
        const [field] = query.order as [string];
        if (rows.length <= 10_000 || typeof rows[0]?.[field] !== 'string') return found;
        const sorted = found.toSorted((a, b) => (String(a[field]) < String(b[field]) ? -1 : 1));
        return query.descending ? sorted.reverse() : sorted;
      }
    },
  },
  {
    that: 'measures the length of keys in JSON',
    fails: ['publish(dataset) stores keys and documents that are as long as the limits allow'],
    folder: class extends FolderAdapter {
      override encode(document: Document, name: string) {
        const collection = this.context.collections.get(name)!;
        const bytes = Buffer.byteLength(JSON.stringify(collection.key.map((field) => document[field as string])));
        if (bytes > 2100) throw invalidCollection(collection, 'a key is too long');
        return super.encode(document, name);
      }
    },
  },
  {
    that: 'stores the cadence irregular as daily',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: class extends FolderAdapter {
      override commit(manifest: Manifest, content: Content) {
        const sources = manifest.sources.map((source) =>
          source.cadence === 'irregular' ? { ...source, cadence: 'daily' as const } : source,
        );
        super.commit({ ...manifest, sources }, content);
      }
    },
  },
  {
    that: 'rejects creation times with microseconds',
    fails: [
      'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created',
    ],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        if (/\.\d{4}/.test(dataset.manifest.created)) throw new StorageError('invalid_dataset', 'The time is invalid.');
        await super.publish(dataset, options);
      }
    },
  },
];

export const callerAssumptions: readonly BrokenAdapter[] = [
  {
    that: 'calls read() without its dataset',
    fails: ['publish(dataset) accepts an instance of a class'],
    folder: class extends FolderAdapter {
      override publish({ manifest, read }: Dataset, options?: PublishOptions) {
        return super.publish({ manifest, read: (name) => read(name) }, options);
      }
    },
  },
  {
    that: 'checks the signal of a publication only between collections',
    fails: ['publish(dataset) stops reading when its signal is aborted, even if its collection has more rows'],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const content: Content = {};
        for (const name of this.context.collections.keys()) {
          this.assertUsable(options.signal);
          const rows: Document[] = [];
          for await (const batch of this.batchesOf(dataset, name)) rows.push(...structuredClone(batch));
          content[name] = rows;
        }
        return content;
      }
    },
  },
  {
    that: 'rejects with aborted although it has published',
    fails: ['publish(dataset) succeeds or changes nothing, at whatever time its signal is aborted'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        await super.publish(dataset, options);
        await nextTurn();
        this.assertUsable(options.signal);
      }
    },
  },
  {
    that: 'leaves a listener on the signal of getJson()',
    fails: ['a signal has no listeners after getJson() and findJson()'],
    fault: inSnapshot((snapshot) => ({
      async getJson(name, key, signal) {
        signal?.addEventListener('abort', () => {});
        return snapshot.getJson!(name, key, signal);
      },
    })),
  },
  {
    that: 'keeps its process running after a ping',
    fails: ['a process exits after its adapter has published, read and pinged, and was closed'],
    folder: class extends FolderAdapter {
      override async ping(signal?: AbortSignal) {
        await super.ping(signal);
        setInterval(() => {}, 60_000);
      }
    },
  },
  {
    that: 'changes the list of versions that it has returned',
    fails: ['versions list() returns a list that later changes do not affect'],
    folder: class extends FolderAdapter {
      readonly #listed: Awaited<ReturnType<FolderAdapter['list']>> = [];
      override async list() {
        this.#listed.splice(0, this.#listed.length, ...(await super.list()));
        return this.#listed;
      }
    },
  },
];

const UNLOCKS =
  'another adapter over the same store can open an exclusive store after one that was closed while it was opening';

/**
 * A store that is closed while it opens must not keep its lock. This adapter keeps the lock until a second `close()`.
 */
class LateLock extends FolderAdapter {
  owns = false;
  override async open() {
    this.assertUsable();
    if (this.owns) return;
    await nextTurn();
    if (existsSync(this.path('owner'))) throw new StorageError('unavailable', 'The store is in use.');
    writeFileSync(this.path('owner'), '');
    this.owns = true;
    await super.open();
  }
  override async close() {
    await super.close();
    if (this.owns) rmSync(this.path('owner'), { force: true });
    this.owns = false;
  }
}

export const lockAssumptions: readonly BrokenAdapter[] = [
  {
    that: `keeps open only the ${OPENS} versions that were used last`,
    fails: ['snapshot() can be taken of 40 versions, and each one stays readable'],
    folder: class extends FolderAdapter {
      #open: string[] = [];
      override hold(move: Move) {
        this.#open = [...this.#open.filter((id) => id !== move.id), move.id].slice(-OPENS);
        return super.hold(move);
      }
      override rowsOf(content: Content, name: string, signal?: AbortSignal) {
        if (this.#open.some((id) => this.contents.get(id) === content)) return super.rowsOf(content, name, signal);
        throw new StorageError('unavailable', 'The version is not open.');
      }
    },
  },
  {
    that: 'keeps the lock of a find that was aborted',
    fails: ['versions a find() that was left early, aborted or not ended holds nothing after its snapshot is released'],
    folder: FolderAdapter,
    fault: inSnapshot((snapshot, adapter) => ({
      async *find(name, query, signal) {
        const lock = adapter.snapshot();
        try {
          yield* snapshot.find(name, query, signal);
        } finally {
          if (!signal?.aborted) lock.release();
        }
      },
    })),
  },
  {
    that: 'releases snapshots that are not read for 300 ms',
    fails: ['an adapter keeps a version that is held for a while'],
    folder: FolderAdapter,
    fault: inSnapshot((snapshot) => {
      let timer: NodeJS.Timeout | undefined;
      const extend = () => {
        clearTimeout(timer);
        timer = setTimeout(snapshot.release, 300).unref();
      };
      extend();
      return {
        get(...given) {
          extend();
          return snapshot.get(...given);
        },
        find(...given) {
          extend();
          return snapshot.find(...given);
        },
      };
    }),
  },
  {
    that: 'takes over a lock that is a second old',
    fails: ['an adapter completes a publication that takes a while, and keeps its store locked'],
    folder: class extends FolderAdapter {
      override async lock() {
        const age = Date.now() - (statSync(this.path('lock'), { throwIfNoEntry: false })?.mtimeMs ?? 0);
        if (age < 1000) throw conflict('Another adapter is publishing.');
        writeFileSync(this.path('lock'), '');
      }
    },
  },
  {
    that: 'rejects the second of two deletions with an error of its driver',
    fails: ['versions prune() can be called twice at the same time'],
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        this.look();
        const pruned = this.toPrune(keep);
        await nextTurn();
        if (pruned.some(({ id }) => !existsSync(this.path(`${id}.json`)))) throw new Error('ENOENT');
        this.remove(pruned);
        return pruned.map(({ version }) => version);
      }
    },
  },
  {
    that: 'chooses the version of asOf() before it locks it',
    fails: ['versions prune() at the same time as asOf() keeps the version that asOf() returns'],
    folder: class extends FolderAdapter {
      override async asOf(time: Date) {
        const move = this.moveAt(time);
        const chosen = move && this.hold(move);
        chosen?.release();
        await delay(5);
        if (!move || this.catalog.versions.some(({ id }) => id === move.id)) return super.asOf(time);
        return chosen && { ...chosen, get: () => this.#missing(), find: () => this.#missing() };
      }
      #missing(): never {
        throw new StorageError('unavailable', 'The version has been deleted.');
      }
    },
  },
  {
    that: 'leaves its exclusive store locked if it is closed while it opens',
    fails: [UNLOCKS],
    capabilities: { ...DURABLE, exclusive: true },
    folder: class extends LateLock {
      override async open() {
        try {
          await super.open();
        } catch (error) {
          this.owns = false;
          throw error;
        }
      }
    },
  },
  {
    that: 'unlocks its exclusive store only when it is closed again, if it was closed while it opened',
    fails: [UNLOCKS],
    capabilities: { ...DURABLE, exclusive: true },
    folder: LateLock,
  },
  {
    that: 'returns deleted versions from asOf() while it holds them',
    fails: [
      'another adapter over the same store does not return a deleted version from asOf(), even if it holds the version',
    ],
    folder: class extends FolderAdapter {
      #known: Catalog['versions'] = [];
      override load(catalog: Catalog) {
        super.load(catalog);
        this.#known = [...this.#known.filter(({ id }) => this.isHeld(id)), ...catalog.versions];
      }
      override async asOf(time: Date) {
        const snapshot = await super.asOf(time);
        const move = this.moveAt(time);
        if (snapshot || !move) return snapshot;
        const { catalog } = this;
        this.catalog = { ...catalog, versions: this.#known };
        const held = this.hold(move);
        this.catalog = catalog;
        return held;
      }
    },
  },
  {
    that: 'does not follow other adapters while a list is being read',
    fails: [
      'another adapter over the same store notices what the first one publishes, calls changed(), and keeps its snapshots readable',
    ],
    folder: class extends FolderAdapter {
      #reads = 0;
      override async *findRows(...given: Parameters<FolderAdapter['findRows']>) {
        this.#reads++;
        try {
          yield* super.findRows(...given);
        } finally {
          this.#reads--;
        }
      }
      override startTimer() {
        return setInterval(() => this.#reads === 0 && this.look(), this.pollMs).unref();
      }
    },
  },
];
