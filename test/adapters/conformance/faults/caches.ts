import type { Snapshot, TotalsQuery } from '../../../../core/contracts/storage.js';
import { inSnapshots } from '../breakable.js';
import { type BrokenAdapter, versioning } from './breaking.js';
import { SEARCHING, searching, totalsOf } from './totals.js';

const HELD = 'close() makes reads of a held snapshot reject with closed; release() is still allowed';
const AS_OF = 'close() makes reads of a snapshot from asOf() reject with closed';
const EACH_QUERY =
  'totals(collection, query) returns the totals of each query, if the previous query differs in one part';
const RANDOM = 'random reads return what the reference returns, alone and at the same time';
const REUSED_NAME = 'versions with similar or equal rows contain nothing of a deleted version with the same name';

type Method = 'get' | 'getJson' | 'totals';
type Call = (...given: readonly unknown[]) => Promise<unknown>;

type KeyOf = (name: string, query: TotalsQuery) => unknown;

const cached = (
  snapshot: Snapshot,
  method: Method,
  cache: Map<string, unknown>,
  before: (signal?: AbortSignal) => Promise<unknown> = async () => {},
  keyOf: KeyOf = (...given) => given,
): Partial<Snapshot> => {
  const read = (snapshot[method] as Call).bind(snapshot);
  const call: Call = async (name, query, signal, ...rest) => {
    await before(signal as AbortSignal | undefined);
    const key = JSON.stringify([snapshot.version, keyOf(name as string, query as TotalsQuery)]);
    if (!cache.has(key)) cache.set(key, await read(name, query, signal, ...rest));
    return cache.get(key);
  };
  return { [method]: call };
};

const afterClose = (method: Method): Pick<BrokenAdapter, 'fault'> => ({
  fault: inSnapshots(() => {
    const cache = new Map<string, unknown>();
    return (snapshot) => cached(snapshot, method, cache);
  }),
});

const afterCloseAsOf = (method: Method): Pick<BrokenAdapter, 'fault'> =>
  versioning((versions) => {
    const cache = new Map<string, unknown>();
    return {
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        return snapshot && { ...snapshot, ...cached(snapshot, method, cache) };
      },
    };
  });

/** Caches totals by a key that omits a part of the query. */
const cachingTotals = (keyOf: KeyOf): Pick<BrokenAdapter, 'fault'> => ({
  fault: inSnapshots((adapter) => (snapshot) => {
    // The memory adapter has no totals, so `totalsOf` computes them.
    const whole: Snapshot = { ...snapshot, totals: (name, query, signal) => totalsOf(snapshot, name, query, signal) };
    return cached(whole, 'totals', new Map(), (signal) => adapter.ping(signal), keyOf);
  }),
});

export const cacheBugs: readonly BrokenAdapter[] = [
  { that: 'returns cached totals after it was closed', ...afterClose('totals'), fails: [HELD] },
  { that: 'returns cached documents after it was closed', ...afterClose('get'), fails: [HELD] },
  { that: 'returns cached JSON after it was closed', ...afterClose('getJson'), fails: [HELD] },
  {
    that: 'returns cached totals of an earlier version after it was closed',
    ...afterCloseAsOf('totals'),
    fails: [AS_OF],
  },
  {
    that: 'returns cached JSON of an earlier version after it was closed',
    ...afterCloseAsOf('getJson'),
    fails: [AS_OF],
  },
  {
    that: 'caches totals by the name of the version',
    fault: inSnapshots((adapter) => {
      const cache = new Map<string, unknown>();
      return (snapshot) => cached(snapshot, 'totals', cache, (signal) => adapter.ping(signal));
    }),
    fails: [REUSED_NAME],
  },
  {
    that: 'caches totals without the collection in the key',
    ...cachingTotals((_name, query) => query),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals without the limit in the key',
    ...cachingTotals((name, { limit, ...query }) => [name, query]),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches the totals that a sort order provides without the limit in the key',
    fault: inSnapshots((adapter) => (snapshot) => {
      const keyOf: KeyOf = (name, { limit, ...query }) => [name, query];
      return cached(snapshot, 'totals', new Map(), (signal) => adapter.ping(signal), keyOf);
    }),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals without the words in the key',
    capabilities: SEARCHING,
    fault: inSnapshots((adapter) => (snapshot) => {
      const whole = searching(snapshot);
      const keyOf: KeyOf = (name, { words, ...query }) => [name, query];
      return { ...whole, ...cached(whole, 'totals', new Map(), (signal) => adapter.ping(signal), keyOf) };
    }),
    fails: [RANDOM],
  },
  {
    that: 'caches totals without the measure in the key',
    ...cachingTotals((name, { of, ...query }) => [name, query]),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals without the conditions in the key',
    ...cachingTotals((name, { where, ...query }) => [name, query]),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals without the operators in the key',
    ...cachingTotals((name, { where, ...query }) => [name, query, where.map(({ operator, ...rest }) => rest)]),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals without the fields of conditions in the key',
    ...cachingTotals((name, { where, ...query }) => [name, query, where.map(({ field, ...rest }) => rest)]),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals by the text of the values in conditions',
    ...cachingTotals((name, { where, ...query }) => [
      name,
      query,
      where.map(({ value, ...rest }) => [rest, String(value)]),
    ]),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals without the order of the fields in the key',
    ...cachingTotals((name, { by, ...query }) => [name, query, by.toSorted()]),
    fails: [EACH_QUERY],
  },
  {
    that: 'caches totals without the fields in the key',
    ...cachingTotals((name, { by, ...query }) => [name, query]),
    fails: [EACH_QUERY],
  },
];
