import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { invalidCollection, momentAfter } from '../../../../core/data/publishing.js';
import { compareBy } from '../../../../core/data/scalars.js';
import { inSnapshot } from '../breakable.js';
import { type Content, conflict, FolderAdapter } from '../folder-adapter.js';
import { asking, type BrokenAdapter, finding, getting, reading, versioning } from './breaking.js';

const LARGE = 'reading from a large dataset a collection of 66,000 documents returns part of the documents';
const UNCHANGED = 'snapshot() does not change after another version became current';

const byUtf16 = (a: unknown, b: unknown): number => (a === b ? 0 : String(a) < String(b) ? -1 : 1);

export const conditionBugs: readonly BrokenAdapter[] = [
  {
    that: 'decodes spaces in texts',
    ...reading((document) => JSON.parse(JSON.stringify(document).replaceAll('%20', ' '))),
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
  },
  {
    that: 'loses fields named length',
    ...reading((document) =>
      JSON.parse(JSON.stringify(document), (name, value) => (name === 'length' ? undefined : value)),
    ),
    fails: ['reading documents keeps field names that stores and programming languages reserve'],
  },
  {
    that: 'joins the fields of keys with quotes and commas',
    folder: class extends FolderAdapter {
      override keyText(key: readonly unknown[]) {
        return key.join('","');
      }
    },
    fails: ['reading get(collection, key) distinguishes keys that would be equal if their fields were joined'],
  },
  {
    that: 'orders strings by UTF-16 unit if a field is fixed',
    ...finding((found, { equal, order, descending }) =>
      equal && !descending
        ? found.toSorted((a, b) => byUtf16(a[order.at(-1)!], b[order.at(-1)!]) || compareBy(order)(a, b))
        : found,
    ),
    fails: ['reading find(collection, { order, descending }) orders by the fields of a key one by one, not joined'],
  },
  {
    that: 'finds no row after the first thousands by its key',
    ...getting(async (snapshot, name, key, signal) => {
      const found = await snapshot.get(name, key, signal);
      return name === 'crowd' && (key[0] as number) > 2 ? undefined : found;
    }),
    fails: [
      'reading from a large dataset a collection of 66,000 documents returns documents by their keys, also by keys that no document has',
    ],
  },
  {
    that: 'returns at most 1,000 documents if a field is fixed',
    ...asking((query) => (query.equal ? { ...query, limit: Math.min(query.limit ?? 1000, 1000) } : query)),
    fails: [LARGE],
  },
  {
    that: 'deletes the limit from the query that it receives',
    fault: inSnapshot((snapshot) => ({
      find(collection, query, signal) {
        const { limit, ...rest } = query;
        delete (query as { limit?: number }).limit;
        return snapshot.find(collection, limit === undefined ? rest : { ...rest, limit }, signal);
      },
    })),
    fails: ['reading find(collection) does not change the query and the key that it receives'],
  },
  {
    that: 'adds the missing upper bound to the range that it receives',
    ...asking((query) => {
      if (query.range) Object.assign(query.range, { to: query.range.to ?? '\u{10ffff}' });
      return query;
    }),
    fails: ['reading find(collection) does not change the query and the key that it receives'],
  },
  {
    that: 'yields no stored text from snapshots of asOf()',
    ...versioning((versions) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        return snapshot && { ...snapshot, findJson: undefined as never };
      },
    })),
    fails: ['the adapter and its snapshots have the members of its capabilities, and no others'],
  },
  {
    that: 'yields the stored text of the newest version',
    fault: inSnapshot((_snapshot, adapter) => ({
      async *findJson(...query) {
        const newest = adapter.snapshot();
        yield* newest.findJson!(...query);
        newest.release();
      },
    })),
    fails: [UNCHANGED],
  },
  {
    that: 'reads one collection from the newest version',
    folder: class extends FolderAdapter {
      override rowsOf(content: Content, name: string, signal?: AbortSignal) {
        const newest = name === 'crowd' ? this.contentOf(this.catalog.moves.at(-1)!.id) : content;
        return super.rowsOf(newest, name, signal);
      }
    },
    fails: [UNCHANGED],
  },
  {
    that: 'leaves a listener on the signal of totals()',
    fault: inSnapshot((snapshot) => ({
      async totals(name, query, signal) {
        signal?.addEventListener('abort', () => {});
        return snapshot.totals!(name, query, signal);
      },
    })),
    fails: ['a signal has no listeners after totals()'],
  },
  {
    that: 'leaves a listener on the signal of findJson()',
    fault: inSnapshot((snapshot) => ({
      async *findJson(name, query, signal) {
        signal?.addEventListener('abort', () => {});
        yield* snapshot.findJson!(name, query, signal);
      },
    })),
    fails: ['a signal has no listeners after getJson() and findJson()'],
  },
  {
    that: 'compares the time of an activation with the last publication',
    folder: class extends FolderAdapter {
      override activationTime() {
        const { publishedAt } = this.catalog.versions.at(-1)!;
        return momentAfter(new Date(publishedAt), this.context.clock).toISOString();
      }
    },
    fails: ['versions times increase, even if the clock goes back or does not move'],
  },
  {
    that: 'identifies content by its version and its time of creation',
    folder: class extends FolderAdapter {
      override async onTaken({ manifest }: Dataset) {
        const stored = this.catalog.versions.find(({ version }) => version === manifest.version);
        if (stored?.manifest.created !== manifest.created) throw conflict('The version exists already.');
      }
    },
    fails: ['versions publish() rejects with conflict for different content under an existing version, current or not'],
  },
  {
    that: 'activates a version that is published again',
    folder: class extends FolderAdapter {
      override async onTaken({ manifest }: Dataset) {
        await this.activate(manifest.version);
      }
    },
    fails: [
      'a publication with the content of an existing version changes nothing, and resolves or rejects with conflict',
    ],
  },
  {
    that: 'reports no progress of the last collection',
    fault: (adapter) => ({
      publish: (dataset, options = {}) =>
        adapter.publish!(dataset, {
          ...options,
          onProgress: (progress) => progress.collection !== 'crowd' && options.onProgress?.(progress),
        }),
    }),
    fails: ['publish(dataset) reports its progress up to the last row of each collection'],
  },
  {
    that: 'rejects keys that are as long as its limit',
    capabilities: { publish: true, versions: true, durable: true, limits: { keyBytes: 400 } },
    folder: class extends FolderAdapter {
      override encode(document: Document, name: string) {
        const { value: word } = document;
        if (typeof word !== 'string' || Buffer.byteLength(word) < 400) return super.encode(document, name);
        throw invalidCollection(this.context.collections.get(name)!, 'a key is too long');
      }
    },
    fails: ['publish(dataset) stores keys and documents that are as long as the limits allow'],
  },
  {
    that: 'deletes versions if it may keep more than there are',
    folder: class extends FolderAdapter {
      override toPrune(keep: number) {
        const { versions, moves } = this.catalog;
        return versions.slice(0, versions.length - keep).filter(({ id }) => id !== moves.at(-1)?.id);
      }
    },
    fails: ['versions prune() deletes all but the newest, and returns what it deleted'],
  },
  {
    that: 'keeps the newest versions in addition to held ones',
    folder: class extends FolderAdapter {
      override toPrune(keep: number) {
        const unused = this.catalog.versions.filter(({ id }) => !this.isHeld(id));
        const older = unused.slice(0, Math.max(0, unused.length - keep));
        return older.filter(({ id }) => id !== this.catalog.moves.at(-1)?.id);
      }
    },
    fails: ['versions prune() counts held versions among the newest'],
  },
  {
    that: 'releases all versions if a publication fails',
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        await super.publish(dataset, options).catch((error) => {
          this.holds.clear();
          throw error;
        });
      }
    },
    fails: ['versions prune() keeps a held version readable, and deletes it after its release'],
  },
];
