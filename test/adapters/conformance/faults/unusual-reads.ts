/** Defines adapters whose bugs depend on how a caller reads a list, on the size of a collection, or on earlier changes. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Query, Snapshot } from '../../../../core/contracts/storage.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { type BrokenAdapter, finding } from './breaking.js';
import { totalsOf } from './totals.js';

const REFERENCE = 'random reads return what the reference returns, alone and at the same time';
const CHANGES = 'random reads return what the reference returns, during a publication and after each kind of change';
const CONDITIONS =
  'reading from a large dataset totals of many documents apply conditions to every document, and total every number';
const SEQUENCES = 'any sequence of publications, activations, deletions and reads has the same result as the model';

const all = async (snapshot: Snapshot, name: string, query: Query): Promise<Document[]> => {
  const found: Document[] = [];
  for await (const batch of snapshot.find(name, query)) found.push(...batch);
  return found;
};

export const unusualReadBugs: readonly BrokenAdapter[] = [
  {
    that: 'returns documents without null values in a page that it reads backwards',
    ...finding((found, { after, descending }) =>
      after && descending
        ? found.map((each) => Object.fromEntries(Object.entries(each).filter(([, value]) => value !== null)))
        : found,
    ),
    fails: [REFERENCE],
  },
  {
    that: 'yields the same array for each batch of a range',
    fault: inSnapshot((snapshot) => ({
      async *find(name, query, signal) {
        if (!query.range) return yield* snapshot.find(name, query, signal);
        const reused: Document[] = [];
        for await (const batch of snapshot.find(name, query, signal)) {
          for (let start = 0; start < batch.length; start += 50) {
            reused.splice(0, Number.POSITIVE_INFINITY, ...batch.slice(start, start + 50));
            yield reused;
          }
        }
      },
    })),
    fails: [REFERENCE],
  },
  {
    that: 'ends a list if its caller pauses',
    fault: inSnapshot((snapshot) => ({
      async *find(name, query, signal) {
        const found = await all(snapshot, name, query);
        for (let start = 0; start < found.length; start += 50) {
          let isPaused = false;
          setImmediate(() => {
            isPaused = true;
          });
          if (signal?.aborted) return yield* snapshot.find(name, query, signal);
          yield found.slice(start, start + 50);
          if (isPaused) return;
        }
      },
    })),
    fails: [REFERENCE],
  },
  {
    that: 'reads the last query when the caller starts to iterate',
    fault: inSnapshots(() => {
      let last: Query | undefined;
      return (snapshot) => ({
        find(name, query, signal) {
          last = query;
          return (async function* () {
            yield* snapshot.find(name, last!.order.join() === query.order.join() ? last! : query, signal);
          })();
        },
      });
    }),
    fails: [REFERENCE],
  },
  {
    that: 'caches totals by the object of the query',
    fault: inSnapshots(() => {
      const cache = new WeakMap<object, ReturnType<NonNullable<Snapshot['totals']>>>();
      return (snapshot) => ({
        totals(name, query, signal) {
          const found = (!signal && cache.get(query)) || snapshot.totals!(name, query, signal);
          if (!signal) cache.set(query, found);
          return found;
        },
      });
    }),
    fails: [REFERENCE],
  },
  {
    that: 'keeps what callers change in documents of a limited list',
    fault: inSnapshots(() => {
      const cache = new Map<string, Document[]>();
      return (snapshot) => ({
        async *find(name, query, signal) {
          if (query.limit === undefined || signal) return yield* snapshot.find(name, query, signal);
          const key = JSON.stringify([snapshot.version, name, query]);
          const found = cache.get(key) ?? (await all(snapshot, name, query));
          cache.set(key, found);
          yield [...found];
        },
      });
    }),
    fails: [REFERENCE],
  },
  {
    that: 'returns nothing after 20 lists were never read to their end',
    fault: inSnapshots(() => {
      let open = 0;
      return (snapshot) => ({
        async *find(...given) {
          if (open >= 20) return;
          open++;
          try {
            yield* snapshot.find(...given);
          } finally {
            open--;
          }
        },
      });
    }),
    fails: [REFERENCE],
  },
  {
    that: 'counts at most 10,000 documents that meet a condition',
    fault: inSnapshot((snapshot) => ({
      totals: async (name, query, signal) => {
        const found = await totalsOf(snapshot, name, query, signal);
        return query.where.length > 0
          ? found?.map((group) => ({ ...group, count: Math.min(group.count, 10_000) }))
          : found;
      },
    })),
    fails: [CONDITIONS],
  },
  {
    that: 'does not find the only document of a collection when it reads backwards',
    fault: inSnapshot((snapshot) => ({
      async *find(name, query, signal) {
        const [counted] = (await snapshot.totals!(name, { where: [], by: [], limit: 1 }))!;
        if (counted!.count !== 1 || !query.descending) yield* snapshot.find(name, query, signal);
      },
    })),
    fails: [REFERENCE],
  },
];

/** Returns an adapter that reads some lists of older snapshots from the current version. */
const readingCurrent = (isWrong: (query: Query, changes: number) => boolean): Pick<BrokenAdapter, 'fault'> => ({
  fault: (adapter) => {
    let changes = 0;
    const wrong = (snapshot: Snapshot): Snapshot => ({
      ...snapshot,
      async *find(name, query, signal) {
        const current = adapter.snapshot();
        const source = isWrong(query, changes) && !signal ? current : snapshot;
        yield* source.find(name, query, signal);
        current.release();
      },
    });
    return {
      snapshot: () => wrong(adapter.snapshot()),
      versions: {
        ...adapter.versions!,
        async activate(version) {
          await adapter.versions!.activate(version);
          changes++;
        },
        async asOf(time) {
          const snapshot = await adapter.versions!.asOf(time);
          return snapshot && wrong(snapshot);
        },
      },
    };
  },
});

export const changedReadBugs: readonly BrokenAdapter[] = [
  {
    that: 'reads pages of older snapshots from the current version after an activation',
    ...readingCurrent(({ limit, after }, changes) => changes > 0 && limit !== undefined && after !== undefined),
    fails: [CHANGES],
  },
  {
    that: 'reads ranges of older snapshots backwards from the current version',
    ...readingCurrent(({ range, descending }) => range !== undefined && descending === true),
    fails: [CHANGES, REFERENCE, SEQUENCES],
  },
  {
    that: 'returns pages of a deleted version whose name is used again',
    fault: inSnapshots(() => {
      const cache = new Map<string, Promise<Document[]>>();
      return (snapshot) => ({
        async *find(name, query, signal) {
          if (query.limit === undefined || query.range === undefined || signal) {
            return yield* snapshot.find(name, query, signal);
          }
          const key = JSON.stringify([snapshot.version, name, query]);
          const found = cache.get(key) ?? all(snapshot, name, query);
          cache.set(key, found);
          yield structuredClone(await found);
        },
      });
    }),
    fails: [CHANGES],
  },
];
