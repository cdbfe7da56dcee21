/** Defines adapters that look only at a part of a value, a list or a failure. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from '../../../../core/contracts/dataset.js';
import type {
  Condition,
  Dataset,
  PublishOptions,
  Query,
  Scalar,
  Snapshot,
} from '../../../../core/contracts/storage.js';
import { invalidCollection } from '../../../../core/data/publishing.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { inSnapshot } from '../breakable.js';
import { type Content, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';
import { totalsOf } from './totals.js';

const EVERY = 'random reads return every document of each version as it was published';
const SIMILAR = 'versions with similar or equal rows are each published whole';
const TOTALS = 'totals(collection, query)';

const compareStarts = (a: Scalar, b: Scalar): number => {
  if (typeof a !== 'string' || typeof b !== 'string' || a === b) return compareScalars(a, b);
  const start = (text: string) => Buffer.from(text).subarray(0, 8);
  return Buffer.compare(start(a), start(b)) || (a < b ? -1 : 1);
};

export const partlyBugs: readonly BrokenAdapter[] = [
  {
    that: 'compares strings by code units if their first 8 bytes are equal',
    fails: [EVERY],
    folder: class extends FolderAdapter {
      override matching(rows: readonly Document[], query: Query) {
        const isPart = query.range || query.after || query.limit !== undefined || query.descending;
        if (isPart) return super.matching(rows, query);
        const compare = (one: Document, other: Document) => {
          for (const field of query.order) {
            const result = compareStarts(one[field] as Scalar, other[field] as Scalar);
            if (result !== 0) return result;
          }
          return 0;
        };
        return super.matching(rows, query).toSorted(compare);
      }
    },
  },
  {
    that: 'keeps the previous row if its length and its first 1,000 characters are the same',
    fails: [EVERY, SIMILAR],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const content = await super.readAll(dataset, options);
        const last = this.catalog.moves.at(-1);
        const previous: Content = last ? this.contentOf(last.id) : {};
        const merged = Object.entries(content).map(([name, documents]) => {
          const { key } = this.context.collections.get(name)!;
          const keyOf = (row: Document) => this.keyText(key.map((field) => row[field] as Scalar));
          const known = new Map((previous[name] ?? []).map((row) => [keyOf(row), row]));
          const isSame = (one: string, other: string) =>
            one.length === other.length && one.slice(0, 1000) === other.slice(0, 1000);
          const kept = documents.map((row) => {
            const old = known.get(keyOf(row));
            return old && isSame(JSON.stringify(old), JSON.stringify(row)) ? old : row;
          });
          return [name, kept];
        });
        return Object.fromEntries(merged) as Content;
      }
    },
  },
  {
    that: 'uses only the whole hundreds of a long list',
    fails: [`${TOTALS} applies in to lists of any length, and counts a document once`],
    fault: inSnapshot((snapshot) => ({
      totals(collection, query, signal) {
        const where = query.where.map((condition) => {
          const { value } = condition;
          if (!Array.isArray(value) || value.length <= 100) return condition;
          return { ...condition, value: value.slice(0, value.length - (value.length % 100)) } as Condition;
        });
        return totalsOf(snapshot, collection, { ...query, where }, signal);
      },
    })),
  },
  {
    that: 'resumes only the last of several timeouts',
    fails: [`${TOTALS} resumes the timeout each time it has called onWait()`],
    fault(adapter) {
      let [queue, size] = [Promise.resolve(), 0];
      let resume: (() => void) | undefined;
      return {
        snapshot() {
          const snapshot = adapter.snapshot();
          const totals: NonNullable<Snapshot['totals']> = async (collection, query, signal, onWait) => {
            if (size++ > 0) resume = onWait?.() ?? resume;
            const reading = queue.then(async () => {
              await delay(0);
              resume?.();
              return snapshot.totals!(collection, query, signal);
            });
            queue = reading.then(
              () => void size--,
              () => void size--,
            );
            return reading;
          };
          return { ...snapshot, totals };
        },
      };
    },
  },
  {
    that: 'returns objects of the publisher from get()',
    fails: ['documents and the manifest belong to their publisher after publish() has resolved'],
    folder: class extends FolderAdapter {
      readonly #given = new Map<string, Document>();
      override async *batchesOf(dataset: Dataset, name: string) {
        for await (const batch of super.batchesOf(dataset, name)) {
          for (const document of batch) {
            const key = this.context.collections.get(name)!.key.map((field) => document[field] as Scalar);
            this.#given.set(name + this.keyText(key), { ...document });
          }
          yield batch;
        }
      }
      override getRow(rows: readonly Document[], name: string, key: readonly Scalar[]) {
        const found = super.getRow(rows, name, key);
        return found && (this.#given.get(name + this.keyText(key)) ?? found);
      }
    },
  },
  {
    that: 'does not close a collection if a later batch is not wanted',
    fails: [
      'a publication closes the iterators of the dataset if its signal is aborted',
      'a publication closes the iterators of the dataset if a row cannot be stored, or its version exists',
    ],
    folder: class extends FolderAdapter {
      override batchesOf(dataset: Dataset, name: string) {
        const batches = super.batchesOf(dataset, name)[Symbol.asyncIterator]();
        return { [Symbol.asyncIterator]: () => ({ next: () => batches.next() }) };
      }
    },
  },
  {
    that: 'does not report the end of an outage',
    fails: [
      'problem() is called with a message during an outage, and without one afterwards, even if nothing was published',
    ],
    context: (context) => ({ ...context, problem: (message) => void (message && context.problem(message)) }),
  },
  {
    that: 'returns the same snapshot to several callers',
    fails: ['versions prune() keeps a version until its last snapshot is released, even if others are released twice'],
    fault(adapter) {
      let shared: { readonly snapshot: Snapshot; count: number } | undefined;
      return {
        snapshot() {
          const inner = adapter.snapshot();
          if (shared && shared.count > 0 && +shared.snapshot.publishedAt === +inner.publishedAt) {
            inner.release();
            shared.count++;
            return shared.snapshot;
          }
          const mine = { count: 1, snapshot: inner };
          mine.snapshot = {
            ...inner,
            release: () => {
              if (mine.count > 0 && --mine.count === 0) inner.release();
            },
          };
          shared = mine;
          return mine.snapshot;
        },
      };
    },
  },
  {
    that: 'ignores the signal of get() while it waits',
    fails: ['reading from a large dataset a signal aborted during get() ends the call immediately'],
    fault: inSnapshot((snapshot) => ({
      async get(collection, key, signal) {
        if (signal?.aborted) return snapshot.get(collection, key, signal);
        await delay(2);
        return snapshot.get(collection, key);
      },
    })),
  },
  {
    that: 'stores long rows under a name without their version',
    fails: [EVERY],
    folder: class extends FolderAdapter {
      readonly #long = new Map<string, Document>();
      override encode(document: Document, name: string) {
        const text = super.encode(document, name);
        const key = this.context.collections.get(name)!.key.map((field) => document[field] as Scalar);
        if (text.length > 65_536) this.#long.set(name + this.keyText(key), JSON.parse(text));
        return text;
      }
      override getRow(rows: readonly Document[], name: string, key: readonly Scalar[]) {
        const found = super.getRow(rows, name, key);
        return found && (this.#long.get(name + this.keyText(key)) ?? found);
      }
    },
  },
  {
    that: 'serves a version that clear() has deleted',
    fails: ['history clear() deletes all versions and the audit, and their names can be used again'],
    database: true,
    fault(adapter) {
      let last: Snapshot | undefined;
      const history = adapter.history!;
      const clear = async () => {
        last = adapter.snapshot();
        await history.clear();
      };
      const snapshot = () => {
        try {
          return adapter.snapshot();
        } catch (error) {
          if (last) return last;
          throw error;
        }
      };
      return { history: { ...history, clear }, snapshot };
    },
  },
  {
    that: 'calls onRepair() before it has replaced an invalid dataset',
    fails: [
      'an invalid dataset in the store is unchanged after publications that fail, and onRepair() is called only for the one that replaces it',
    ],
    files: true,
    fault(adapter) {
      let reason: string | undefined;
      return {
        open: () =>
          adapter.open().catch((error: Error) => {
            reason = error.message;
            throw error;
          }),
        async publish(dataset, { onRepair, ...options } = {}) {
          if (reason) onRepair?.(reason);
          await adapter.publish!(dataset, options);
          reason = undefined;
        },
      };
    },
  },
  {
    that: 'measures numbers in keys by the length of their text',
    fails: ['publish(dataset) stores keys and documents that are as long as the limits allow'],
    folder: class extends FolderAdapter {
      override encode(document: Document, name: string) {
        const collection = this.context.collections.get(name)!;
        const text = collection.key.map((field) => String(document[field])).join('');
        if (Buffer.byteLength(text) > 2000) throw invalidCollection(collection, 'a key is too long');
        return super.encode(document, name);
      }
    },
  },
];
