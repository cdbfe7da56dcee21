/** Defines adapters that answer a query wrongly because of a combination of its parts, or do not look at the store. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Query, Snapshot } from '../../../../core/contracts/storage.js';
import { compareBy } from '../../../../core/data/scalars.js';
import { inSnapshot } from '../breakable.js';
import { asking, type BrokenAdapter, finding } from './breaking.js';

const COMBINED = 'random reads combine ranges of every size with every order, direction, position and limit';
const BY_ANOTHER_ORDER =
  'reading from a large dataset a collection of 66,000 documents returns all documents by another order and descending';

const withoutAfter = ({ after: _, ...query }: Query): Query => query;
const isLater = ({ order, equal = {}, range }: Query): boolean =>
  range !== undefined && range.field !== order[Object.keys(equal).length];

async function* pageThenFilter(snapshot: Snapshot, name: string, query: Query, signal?: AbortSignal) {
  const { range, limit, ...rest } = query;
  const kept: Document[] = [];
  for await (const batch of snapshot.find(name, { ...rest, limit: 4 * limit! }, signal)) {
    for (const document of batch) {
      const value = document[range!.field] as string | number;
      if (value < (range!.from ?? value) || value > (range!.to ?? value)) continue;
      kept.push(document);
    }
  }
  yield kept.slice(0, limit);
}

export const combinationBugs: readonly BrokenAdapter[] = [
  {
    that: 'sorts only by the first field if a range on it matches most documents',
    ...finding((found, { order, range, limit, descending }) => {
      if (range?.field !== order[0] || limit !== undefined || found.length < 100) return found;
      const sorted = found.toSorted(compareBy([order[0]!, ...order.slice(1).reverse()]));
      return descending ? sorted.reverse() : sorted;
    }),
    fails: [COMBINED],
  },
  {
    that: 'limits a page before it applies a range on a later field',
    fault: inSnapshot((snapshot) => ({
      find: (name, query, signal) =>
        query.limit !== undefined && query.after && isLater(query)
          ? pageThenFilter(snapshot, name, query, signal)
          : snapshot.find(name, query, signal),
    })),
    fails: [COMBINED],
  },
  {
    that: 'ignores the position in a range of one value',
    ...asking((query) => (query.range && query.range.from === query.range.to ? withoutAfter(query) : query)),
    fails: [COMBINED],
  },
  {
    that: 'merges long sorted lists by the first field of their order',
    ...finding((found, { order, descending }) => {
      if (found.length < 10_000 || order[1] !== 'name') return found;
      const sorted = found.toSorted(compareBy([order[0]!, ...order.slice(2)]));
      return descending ? sorted.reverse() : sorted;
    }),
    fails: [BY_ANOTHER_ORDER],
  },
];

const HELD = 'snapshot() does not change after another version became current';
const CLOSED = 'close() makes reads of a held snapshot reject with closed; release() is still allowed';

/** Ends lists that cannot contain a document, without a look at the store. */
const emptyIf = (isEmpty: (query: Query) => boolean): Pick<BrokenAdapter, 'fault'> => ({
  fault: inSnapshot((snapshot) => ({
    async *find(name, query, signal) {
      if (!isEmpty(query) || signal?.aborted) yield* snapshot.find(name, query, signal);
    },
  })),
});

export const emptyReadBugs: readonly BrokenAdapter[] = [
  {
    that: 'ends a list with the limit 0 even if its collection is undeclared, or it is closed',
    ...emptyIf(({ limit }) => limit === 0),
    fails: [HELD, CLOSED],
  },
  {
    that: 'ends a list with the lower bound above the upper one even if it is closed',
    ...emptyIf(({ range }) => range?.from !== undefined && range.to !== undefined && range.from > range.to),
    fails: [HELD, CLOSED],
  },
  {
    that: 'remembers keys that no document has, even in undeclared collections',
    fault: inSnapshot((snapshot) => ({
      get: async (name, key, signal) => (key[0] === 'zz' ? undefined : snapshot.get(name, key, signal)),
    })),
    fails: [HELD, CLOSED],
  },
];
