/** Adapters broken on purpose: what is wrong with each, and which tests of the suite must say so. */
import type { Document } from '../../core/contracts/dataset.js';
import type { Query, Scalar, Snapshot, StorageAdapter, Versions } from '../../core/contracts/storage.js';
import { StorageError } from '../../core/errors.js';
import { compareScalars } from '../../core/storage/compare.js';
import { type Breakage, inSnapshot } from './breakable-memory.js';

interface BrokenAdapter extends Breakage {
  /** Completes "an adapter that ...". */
  readonly that: string;
  /** The titles of exactly the tests that fail. */
  readonly fails: readonly string[];
}

const aborted = () => new StorageError('aborted', 'No longer wanted.');

const hasCode = (error: unknown, code: string): boolean => error instanceof StorageError && error.code === code;

/** Hands the adapter another query. */
const asking = (change: (query: Query) => Query): Breakage => ({
  fault: inSnapshot((snapshot) => ({
    find: (collection, query, signal) => snapshot.find(collection, change(query), signal),
  })),
});

/** Changes what a `find` answers with, once all of it is there. */
const finding = (change: (found: Document[], query: Query) => Document[]): Breakage => ({
  fault: inSnapshot((snapshot) => ({
    async *find(collection, query, signal) {
      const found: Document[] = [];
      for await (const batch of snapshot.find(collection, query, signal)) found.push(...batch);
      const changed = change(found, query);
      for (let start = 0; start < changed.length; start += 1000) {
        if (signal?.aborted) throw aborted();
        yield changed.slice(start, start + 1000);
      }
    },
  })),
});

/** Changes each document on its way out. */
const reading = (change: (document: Document) => Document): Breakage => ({
  fault: inSnapshot((snapshot) => ({
    async get(...given) {
      const found = await snapshot.get(...given);
      return found && change(found);
    },
    async *find(...given) {
      for await (const batch of snapshot.find(...given)) yield batch.map(change);
    },
  })),
});

/** Changes how a document is found by its key. */
const getting = (get: (snapshot: Snapshot, ...given: Parameters<Snapshot['get']>) => Promise<unknown>): Breakage => ({
  fault: inSnapshot((snapshot) => ({ get: (...given) => get(snapshot, ...given) as Promise<Document | undefined> })),
});

const publishing = (
  publish: (adapter: StorageAdapter, ...given: Parameters<NonNullable<StorageAdapter['publish']>>) => Promise<void>,
): Breakage => ({ fault: (adapter) => ({ publish: (...given) => publish(adapter, ...given) }) });

const versioning = (change: (versions: Versions, adapter: StorageAdapter) => Partial<Versions>): Breakage => ({
  fault: (adapter) => ({ versions: { ...adapter.versions!, ...change(adapter.versions!, adapter) } }),
});

/** Changes every value inside of a document that is neither array nor object. */
const deeply = (value: unknown, change: (value: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((one) => deeply(one, change));
  if (typeof value !== 'object' || value === null) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deeply(one, change)]));
};

const everyValue = (change: (value: unknown) => unknown): Breakage =>
  reading((document) => deeply(document, change) as Document);

/** JavaScript's own order. */
const natively = (a: unknown, b: unknown): number => (a === b ? 0 : (a as Scalar) < (b as Scalar) ? -1 : 1);

const wholeAscending = ({ equal, range, descending, limit }: Query): boolean =>
  !equal && !range && !descending && limit === undefined;

// The adapters that are open and share what was last published to any of them.
const sharing: StorageAdapter[] = [];

export const brokenAdapters: readonly BrokenAdapter[] = [
  {
    that: 'orders strings by UTF-16 unit',
    ...finding((found, query) => {
      const [field, ...others] = query.order;
      if (others.length > 0 || !wholeAscending(query)) return found;
      return found.sort((a, b) => natively(a[field!], b[field!]));
    }),
    fails: [
      'reading find(collection, { order, descending }) orders strings by code point, not by UTF-16 unit or by language',
    ],
  },
  {
    that: 'orders numbers by their digits',
    ...finding((found, query) =>
      query.order[0] === 'value' && wholeAscending(query)
        ? found.sort((a, b) => natively(String(a['value']), String(b['value'])))
        : found,
    ),
    fails: ['reading find(collection, { order, descending }) orders numbers by value, not by their digits'],
  },
  {
    that: 'orders by the first field alone',
    ...finding((found, query) => {
      const [first, last] = [query.order[0]!, query.order.at(-1)!];
      if (first !== 'rank' || !wholeAscending(query)) return found;
      return found.sort((a, b) => natively(a[first], b[first]) || natively(b[last], a[last]));
    }),
    fails: [
      'reading find(collection, { order, descending }) lets later fields of an order decide the ties of earlier ones',
    ],
  },
  {
    that: 'turns only the first field of an order round',
    ...finding((found, { order, descending, limit }) =>
      descending && limit === undefined ? found.reverse().sort((a, b) => natively(b[order[0]!], a[order[0]!])) : found,
    ),
    fails: [
      'reading find(collection, { order, descending }) descending is the exact reverse, ties included',
      'reading find(collection, query) combines equality, range, order and direction',
    ],
  },
  {
    that: 'bounds strings by UTF-16 unit',
    ...finding((found, { range }) =>
      found.filter((row) => range?.from === undefined || natively(row[range.field], range.from) >= 0),
    ),
    fails: ['reading find(collection, { range }) bounds strings by code point'],
  },
  {
    that: 'leaves out the upper bound of a range',
    ...finding((found, { range }) => found.filter((row) => range?.to === undefined || row[range.field] !== range.to)),
    fails: ['reading find(collection, { range }) includes both of its bounds, also where they are one'],
  },
  {
    that: 'throws where a range is upside down',
    ...asking((query) => {
      const { from, to } = query.range ?? {};
      if (from === undefined || to === undefined || compareScalars(from, to) <= 0) return query;
      throw new StorageError('invalid_query', 'The range is upside down.');
    }),
    fails: ['reading find(collection, { range }) answers with nothing where the lower bound is above the upper'],
  },
  {
    that: 'bounds only the next field of an order',
    ...asking(({ range, ...query }) => {
      const next = query.order[Object.keys(query.equal ?? {}).length];
      return { ...query, ...(range?.field === next && range && { range }) };
    }),
    fails: [
      'reading find(collection, { range }) bounds a later field, with nothing said of those before it',
      'reading find(collection, query) combines equality, range, order and direction',
    ],
  },
  {
    that: 'finds by the beginning of a string',
    ...asking((query) => {
      const station = query.equal?.['station'];
      const whole = ['north', 'south', 'west'].find((one) => station !== '' && one.startsWith(String(station)));
      return whole === undefined ? query : { ...query, equal: { ...query.equal, station: whole } };
    }),
    fails: ['reading find(collection, { equal }) answers with nothing for a value that no document has'],
  },
  {
    that: 'takes a limit of 0 for none',
    ...asking(({ limit, ...query }) => ({ ...query, ...(limit && { limit }) })),
    fails: ['reading find(collection, { limit }) answers with nothing at 0'],
  },
  {
    that: 'ignores the limit',
    ...asking(({ limit, ...query }) => query),
    fails: [
      'reading find(collection, { limit }) answers with nothing at 0',
      'reading find(collection, { limit }) answers with the first documents of the order',
      'reading find(collection, { limit }) counts from the end that descending begins at',
      'reading find(collection, { limit }) counts what equality and range leave',
    ],
  },
  {
    that: 'cuts before it turns round',
    fault: inSnapshot((snapshot) => ({
      async *find(collection, { descending = false, ...query }, signal) {
        if (query.limit === undefined) yield* snapshot.find(collection, { ...query, descending }, signal);
        else {
          const found: Document[] = [];
          for await (const batch of snapshot.find(collection, query, signal)) found.push(...batch);
          yield descending ? found.reverse() : found;
        }
      },
    })),
    fails: ['reading find(collection, { limit }) counts from the end that descending begins at'],
  },
  {
    that: 'answers with null for what is absent',
    ...getting(async (snapshot, ...given) => (await snapshot.get(...given)) ?? null),
    fails: ['reading get(collection, key) answers with undefined, not null, for a key that no document has'],
  },
  {
    that: 'looks at the first field of a key alone',
    ...getting(async (snapshot, collection, key, signal) => {
      const found = await snapshot.get(collection, key, signal);
      if (found || collection !== 'readings') return found;
      const query = { order: ['station', 'day', 'hour'], equal: { station: key[0]! } };
      for await (const [first] of snapshot.find(collection, query)) return first;
      return undefined;
    }),
    fails: ['reading get(collection, key) compares every field of a key of several'],
  },
  {
    that: 'finds strings by their normal form',
    ...getting((snapshot, collection, key, signal) => {
      const normal = key.map((value) => (typeof value === 'string' ? value.normalize('NFC') : value));
      return snapshot.get(collection, normal, signal);
    }),
    fails: [
      'reading get(collection, key) tells strings apart by their code points, with no collation and no normal form',
    ],
  },
  {
    that: 'tells -0 from 0',
    ...getting((snapshot, collection, key, signal) =>
      Object.is(key[0], -0) ? Promise.resolve(undefined) : snapshot.get(collection, key, signal),
    ),
    fails: ['reading get(collection, key) takes -0 for 0'],
  },
  {
    that: 'leaks a field of its own',
    ...reading((document) => (document['id'] === 'absent' ? { _id: 1, ...document } : document)),
    fails: ['reading documents adds no field, as `_id` or a null for one that is absent'],
  },
  {
    that: 'loses nulls',
    ...reading((document) => Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null))),
    fails: ['reading documents keeps nulls, which are not absent'],
  },
  {
    that: 'keeps 0 and 1 for booleans',
    ...everyValue((value) => (typeof value === 'boolean' ? Number(value) : value)),
    fails: ['reading documents keeps booleans, which are not 0 and 1'],
  },
  {
    that: 'keeps 15 digits of a number that is no key',
    ...reading(({ twice, ...document }) => ({
      ...document,
      ...(twice !== undefined && { twice: deeply(twice, (value) => Number((value as number).toPrecision(15))) }),
    })),
    fails: ['reading documents keeps numbers to the last bit'],
  },
  {
    that: 'makes dates of strings that look like one',
    ...everyValue((value) => (/^\d{4}-.*Z$/.test(String(value)) ? new Date(String(value)) : value)),
    fails: ['reading documents keeps strings that look like something else'],
  },
  {
    that: 'takes dots in field names for paths',
    ...reading(({ 'a.b': dotted, ...document }) =>
      dotted === undefined ? document : { ...document, a: { b: dotted } },
    ),
    fails: ['reading documents keeps field names with dots, dollars, spaces and any letter'],
  },
  {
    that: 'loses fields named __proto__',
    ...reading(
      (document) =>
        JSON.parse(JSON.stringify(document), (name, value) => (name === '__proto__' ? undefined : value)) as Document,
    ),
    fails: ['reading documents keeps fields named as those of Object.prototype, and leaves that alone'],
  },
  {
    that: 'ends strings at NUL',
    ...reading(({ nul, ...document }) => ({ ...document, ...(nul !== undefined && { nul: 'a' }) })),
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
  },
  {
    that: 'answers with nothing for an unknown collection',
    fault: inSnapshot((snapshot) => ({
      async *find(...given) {
        try {
          yield* snapshot.find(...given);
        } catch (error) {
          if (!hasCode(error, 'unknown_collection')) throw error;
        }
      },
    })),
    fails: ['reading find(collection) rejects with unknown_collection for one that is not declared'],
  },
  {
    that: 'stops after 20,000 documents',
    ...asking((query) => ({ ...query, limit: Math.min(query.limit ?? 20_000, 20_000) })),
    fails: ['reading a collection of 50,000 documents is found whole, each document once and in order'],
  },
  {
    that: 'does not look at the signal of a get',
    ...getting((snapshot, collection, key) => snapshot.get(collection, key)),
    fails: ['reading a signal that is aborted makes get() reject with aborted'],
  },
  {
    that: 'looks at the signal of a find only once',
    fault: inSnapshot((snapshot) => ({
      async *find(collection, query, signal) {
        if (signal?.aborted) throw aborted();
        yield* snapshot.find(collection, query);
      },
    })),
    fails: ['reading a signal aborted between two batches makes find() reject with aborted instead of the second'],
  },
  {
    that: 'throws errors of its own kind',
    ...getting(async (snapshot, ...given) => {
      try {
        return await snapshot.get(...given);
      } catch (error) {
        throw hasCode(error, 'closed') ? new Error('The database is not open') : error;
      }
    }),
    fails: ['close() makes reads of a held snapshot reject with closed; its release() stays possible'],
  },
  {
    that: 'shares its store with the others',
    fault: (adapter) => ({
      async publish(...given) {
        await adapter.publish!(...given);
        sharing.push(adapter);
      },
      async close() {
        if (sharing.includes(adapter)) sharing.splice(sharing.indexOf(adapter), 1);
        await adapter.close();
      },
      snapshot: () => (sharing.includes(adapter) ? sharing.at(-1)! : adapter).snapshot(),
    }),
    fails: ['the factory gives every test a store of its own'],
  },
  {
    that: 'can do more than it says',
    capabilities: { publish: true, versions: false },
    fails: ['the adapter can do what its capabilities say, and nothing else'],
  },
  {
    that: 'lets a held snapshot follow the current one',
    fault: inSnapshot((_, adapter) => ({
      get(...given) {
        const current = adapter.snapshot();
        current.release();
        return current.get(...given);
      },
    })),
    fails: ['snapshot() that is held stays as it was after another became current'],
  },
  {
    that: 'lets a find go on with the current snapshot',
    fault: inSnapshot((snapshot, adapter) => ({
      async *find(collection, query, signal) {
        let position = 0;
        for await (const batch of snapshot.find(collection, query, signal)) {
          yield batch;
          position += batch.length;
          const current = adapter.snapshot();
          current.release();
          if (current.version === snapshot.version) continue;
          for await (const other of current.find(collection, query, signal)) yield other.slice(position);
          return;
        }
      },
    })),
    fails: ['snapshot() lets a find() that began before the change end as it began'],
  },
  {
    that: 'calls nobody when another version is current',
    context: (context) => ({ ...context, changed() {} }),
    fails: ['changed() is called once snapshot() answers with another version', 'versions activate() calls changed()'],
  },
  {
    that: 'calls changed() too early',
    fault: (adapter, context) => ({
      async publish(dataset, options) {
        if (dataset.manifest.version === 'second-2' && !options) context.changed();
        await adapter.publish!(dataset, options);
      },
    }),
    fails: ['changed() is called once snapshot() answers with another version'],
  },
  {
    that: 'throws when it is closed twice',
    fault(adapter) {
      let closed = false;
      return {
        async close() {
          if (closed) throw new StorageError('closed', 'Closed already.');
          closed = true;
          await adapter.close();
        },
      };
    },
    fails: ['close() may be called twice, one after the other and at once'],
  },
  {
    that: 'opens again after it was closed',
    fault: (adapter) => ({ open: () => adapter.open().catch(() => {}) }),
    fails: [
      'close() makes a later open() reject with closed',
      'close() may be called before open(), which then rejects with closed',
    ],
  },
  {
    that: 'answers pings while its backend is gone',
    fault: (adapter) => ({
      async ping(signal) {
        await adapter.ping(signal).catch((error) => {
          if (!hasCode(error, 'unavailable')) throw error;
        });
      },
    }),
    fails: ['ping() rejects with unavailable while the backend is gone, and resolves when it is back'],
  },
  {
    that: 'finds nothing while its backend is gone',
    fault: inSnapshot((snapshot, adapter) => ({
      async *find(...given) {
        const gone = await adapter.ping().then(
          () => false,
          (error) => hasCode(error, 'unavailable'),
        );
        if (!gone) yield* snapshot.find(...given);
      },
    })),
    fails: ['reads while the backend is gone answer rightly or reject with unavailable, and work when it is back'],
  },
  {
    that: 'shows a dataset before all of it is there',
    fault(adapter) {
      let half: Document[] | undefined;
      return {
        async publish(dataset, options) {
          const { manifest } = dataset;
          const read = async function* (collection: string) {
            for await (const batch of dataset.read(collection)) {
              if (collection === 'items' && manifest.version === 'second-2') half = [...(half ?? []), ...batch];
              yield batch;
            }
          };
          await adapter.publish!({ manifest, read }, options).finally(() => {
            half = undefined;
          });
        },
        snapshot() {
          const snapshot = adapter.snapshot();
          const shown = half;
          return shown
            ? {
                ...snapshot,
                find: async function* () {
                  yield shown;
                },
              }
            : snapshot;
        },
      };
    },
    fails: ['publish(dataset) shows nothing of a dataset before all of it'],
  },
  {
    that: 'blames the backend for a dataset that cannot be read',
    ...publishing(async (adapter, ...given) => {
      await adapter.publish!(...given).catch((error) => {
        throw hasCode(error, 'invalid_dataset')
          ? new StorageError('unavailable', 'Not written.', { cause: error })
          : error;
      });
    }),
    fails: ['publish(dataset) rejects with invalid_dataset for one that cannot be read whole, and changes nothing'],
  },
  {
    that: 'remembers the version of a publication that failed',
    fault(adapter) {
      const failed = new Set<string>();
      return {
        async publish(dataset, options) {
          const { version } = dataset.manifest;
          if (failed.has(version)) throw new StorageError('conflict', `The version "${version}" is there already.`);
          await adapter.publish!(dataset, options).catch((error) => {
            if (hasCode(error, 'invalid_dataset')) failed.add(version);
            throw error;
          });
        },
      };
    },
    fails: ['publish(dataset) works again after one that failed, under the same version'],
  },
  {
    that: 'takes other content under the current version for the same',
    fault: (adapter) => ({
      async publish(dataset, options) {
        const list = await adapter.versions!.list();
        const current = list.find((version) => version.current)?.version;
        if (current !== dataset.manifest.version) await adapter.publish!(dataset, options);
      },
    }),
    fails: [
      'publish(dataset) rejects with conflict for other content under a version that is there, and changes nothing',
    ],
  },
  {
    that: 'lets two publishers win, one after the other',
    fault(adapter) {
      let last: Promise<void> = Promise.resolve();
      return {
        publish(...given) {
          const published = last.then(() => adapter.publish!(...given));
          last = published.catch(() => {});
          return published;
        },
      };
    },
    fails: ['publish(dataset) lets one of two publishers win, and rejects the other with conflict'],
  },
  {
    that: 'does not look at the signal of a publication',
    ...publishing((adapter, dataset, { signal, ...options } = {}) => adapter.publish!(dataset, options)),
    fails: ['publish(dataset) rejects with aborted once its signal is, and changes nothing'],
  },
  {
    that: 'tells no progress',
    ...publishing((adapter, dataset, { onProgress, ...options } = {}) => adapter.publish!(dataset, options)),
    fails: ['publish(dataset) tells its progress to the last row of each collection'],
  },
  {
    that: 'writes into the documents that it is given',
    ...publishing((adapter, dataset, options) =>
      adapter.publish!(
        {
          manifest: dataset.manifest,
          async *read(collection) {
            for await (const batch of dataset.read(collection)) {
              yield structuredClone(batch);
              for (const document of batch) Object.assign(document, { _id: 1 });
            }
          },
        },
        options,
      ),
    ),
    fails: ['publish(dataset) leaves the documents that it is given as they are'],
  },
  {
    that: 'takes every publication time from the dataset',
    fault: inSnapshot((snapshot) => ({ publishedAt: new Date(snapshot.manifest.created) })),
    fails: [
      'publish(dataset) never takes the publication time back: where the dataset is older than the current one, it is now',
    ],
  },
  {
    that: 'lists the oldest version first',
    ...versioning((versions) => ({ list: async () => [...(await versions.list())].reverse() })),
    fails: ['versions list() answers with what was published, the newest first'],
  },
  {
    that: 'does not count who holds a version',
    fault: (adapter) => ({
      snapshot() {
        const snapshot = adapter.snapshot();
        snapshot.release();
        return { ...snapshot, release() {} };
      },
    }),
    fails: [
      'versions list() tells which versions are held',
      'versions prune() leaves a version that is held readable, and deletes it after its release',
    ],
  },
  {
    that: 'does not hold what asOf() answers with',
    ...versioning((versions) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        snapshot?.release();
        return snapshot && { ...snapshot, release() {} };
      },
    })),
    fails: ['versions asOf() holds what it answers with'],
  },
  {
    that: 'keeps one version more than it is told to',
    ...versioning((versions) => ({
      prune: async (keep) => versions.prune((await versions.list()).length > 2 && keep === 1 ? keep + 1 : keep),
    })),
    fails: ['versions prune() deletes all but the newest, and answers with what it deleted'],
  },
  {
    that: 'activates what is not there',
    ...versioning((versions) => ({
      async activate(version) {
        await versions.activate(version).catch((error) => {
          if (!hasCode(error, 'unknown_version')) throw error;
        });
      },
    })),
    fails: ['versions activate() rejects with unknown_version for one that is not there, and changes nothing'],
  },
  {
    that: 'answers asOf() with the version after the time',
    ...versioning((versions, adapter) => ({
      asOf: async (time) => (await versions.asOf(time)) ?? adapter.snapshot(),
    })),
    fails: ['versions asOf() answers with the version that was current at a time, from its publication on'],
  },
  {
    that: 'forgets what was activated when',
    ...versioning((versions) => ({
      async asOf(time) {
        const newest = (await versions.list()).find(({ publishedAt }) => publishedAt <= time);
        return versions.asOf(newest?.publishedAt ?? time);
      },
    })),
    fails: ['versions asOf() remembers what was current before activate()'],
  },
];
