/**
 * Makes random reads, and compares their results with a reference. Within an example, each read changes one part of the
 * previous read, to detect a read that returns the result of another read. The reads run one after another or at the
 * same time. Some reads are aborted, stopped early, or read in another unusual way.
 */
import { AssertionError } from 'node:assert/strict';
import {
  type Collection,
  type Document,
  type Group,
  type Scalar,
  type Snapshot,
  StorageError,
  type TotalsQuery,
} from 'metro-forecast-api/adapter';
import { copyOf } from './copies.js';
import { sameDocuments } from './every-row.js';
import { sameValue } from './expect.js';
import { items, numbers, pairs, type Rows, readings, spots, twins, words } from './fixture.js';
import type { Opened } from './instance.js';
import { letters } from './letter-rows.js';
import type { Check } from './property.js';
import {
  anySeed,
  FIND_PARTS,
  findQueryOf,
  KEY_PARTS,
  keysOf,
  PARTS,
  type Part,
  type Seeds,
  SUMMED,
  seedsOf,
  TOTALS_PARTS,
  totalsQueryOf,
} from './random-queries.js';
import { few, plenty, wide, wider } from './random-rows.js';
import { Random } from './random-values.js';
import { type Found, type ListMethod, modify, WAYS, type Way } from './random-ways.js';
import { documentAt, inOrder, searchedFor, totalsIn, withSumsOf } from './reference.js';

const MOST_CHANGES = 8;
/** A collection that is listed twice is read more often. */
const MORE = [spots, letters, pairs, readings, words, numbers, items, twins, few, plenty];
export const collections = [wide, wider, wide, wider, wide, wide, wider, wide, ...MORE, ...MORE.slice(0, -1)];
/** Collections with fields that most queries for totals can use. */
const TOTALLED = [letters, readings, spots, items, pairs];
const totalled = [wide, wider, wide, wider, wide, wide, wide, ...TOTALLED, ...TOTALLED, wider, few, plenty];

interface Read {
  /** The method and its arguments, for error messages. */
  readonly shown: string;
  /** Calls the method of the adapter and of the reference. Rejects if the results differ. */
  run(): Promise<void>;
}

/** A snapshot, and the rows that it must contain. */
export interface Version {
  readonly snapshot: Snapshot;
  readonly rows: Rows;
  /** The collections to read. Default: `collections`. */
  readonly collections?: readonly Collection[];
}

const METHODS = ['find', 'totals', 'findJson', 'get', 'totals', 'find', 'getJson'] as const;
type Method = (typeof METHODS)[number];

const methodsOf = (snapshot: Snapshot): readonly Method[] => METHODS.filter((method) => snapshot[method] !== undefined);

const relevantTo = (method: Method): readonly Part[] => {
  const rest = method === 'totals' ? TOTALS_PARTS : method.startsWith('get') ? KEY_PARTS : FIND_PARTS;
  return ['method', 'collection', 'version', 'signal', ...rest, ...rest];
};

const sameTotals = (found: readonly Group[], all: readonly Group[], { limit, of }: TotalsQuery): void => {
  const groups = inOrder(found);
  sameValue(groups.length, Math.min(limit, all.length), 'the number of groups');
  const values = groups.map((group) => JSON.stringify(group.values));
  sameValue(new Set(values).size, groups.length, 'the number of different groups');
  const byValues = new Map(all.map((group) => [JSON.stringify(group.values), group]));
  const expected = values.map((each) => byValues.get(each));
  const cancels = of !== undefined && !SUMMED.includes(of);
  sameValue(withSumsOf(expected, groups, cancels), expected, 'the totals of each group');
};

/** The data for a read: the method, its collection, and the documents in the collection. */
interface Source extends Version {
  readonly method: Method;
  readonly collection: Collection;
  readonly documents: readonly Document[];
  /**
   * The documents whose values the query contains. They are the same for several versions, so that the same query reads
   * several versions.
   */
  readonly sample: readonly Document[];
  readonly searches: boolean;
  /**
   * Maximum number of keys that a read requests at the same time. The number is small if other reads run at the same
   * time, because an adapter may reject reads that wait for a connection. It is also small for aborted reads, because
   * each one may cost a connection.
   */
  readonly mostKeys: number;
  readonly way: Way;
}

const NAMES_OF_WAYS = Object.keys(WAYS) as Way[];

const sourceOf = (seeds: Seeds, versions: readonly Version[], together: boolean): Source => {
  const version = versions[seeds.version % versions.length]!;
  const { snapshot, rows } = version;
  const methods = methodsOf(snapshot);
  const method = methods[seeds.method % methods.length]!;
  const choices = version.collections ?? (method === 'totals' ? totalled : collections);
  const way = NAMES_OF_WAYS[seeds.way % NAMES_OF_WAYS.length]!;
  const collection = choices[seeds.collection % choices.length]!;
  const other = versions[Math.floor(seeds.collection / choices.length) % Math.min(2, versions.length)]!;
  return {
    ...version,
    method,
    collection,
    documents: rows[collection.name] ?? [],
    sample: other.rows[collection.name] ?? [],
    searches: snapshot.searches === true && collection.search !== undefined,
    mostKeys: seeds.signal === 0 && !together ? Number.POSITIVE_INFINITY : 2,
    // Reads at the same time cannot use the same object.
    way: together && way === 'reused' ? 'whole' : way,
  };
};

const MOMENTS = ['never', 'never', 'never', 'before', 'soon', 'in a turn', 'afterwards', 'never'] as const;

/** Makes a call whose signal may be aborted. The call either returns the right result or rejects with `aborted`. */
const calling = async <T>(seeds: Seeds, call: (signal?: AbortSignal) => Promise<T>, check: (found: T) => void) => {
  const moment = seeds.signal === 0 ? 'never' : new Random(seeds.signal).pick(MOMENTS);
  if (moment === 'never') return check(await call());
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (moment === 'before') abort();
  const result = call(controller.signal);
  if (moment === 'soon') queueMicrotask(abort);
  if (moment === 'in a turn') setImmediate(abort);
  try {
    check(await result);
  } catch (error) {
    if (!(controller.signal.aborted && error instanceof StorageError && error.code === 'aborted')) throw error;
  }
  abort();
};

type Run = () => Promise<void>;

const reusedQuery: Record<string, unknown> = {};

/** Returns a copy of the query. With the way `reused`, the copy is the same object each time. */
const copied = <T extends object>(query: T, way: Way): T => {
  if (way !== 'reused') return copyOf(query);
  for (const name of Object.keys(reusedQuery)) delete reusedQuery[name];
  return Object.assign(reusedQuery, copyOf(query));
};

const totalsRead = (seeds: Seeds, source: Source): [unknown, Run] => {
  const { snapshot, collection, documents, sample, searches, way } = source;
  const query = totalsQueryOf(seeds, collection, sample, searches);
  const call = (signal?: AbortSignal) => snapshot.totals!(collection.name, copied(query, way), signal);
  const check = (found: readonly Group[] | undefined) => {
    if (found) sameTotals(found, totalsIn(collection, documents, query), query);
  };
  return [query, () => calling(seeds, call, check)];
};

const readByKeys = (seeds: Seeds, source: Source): [unknown, Run] => {
  const { snapshot, method, collection, documents, sample, mostKeys, way } = source;
  const { name } = collection;
  const keys = keysOf(seeds.keys, collection, sample).slice(0, mostKeys);
  const get = async (key: readonly Scalar[], signal?: AbortSignal) => {
    if (method === 'get') return snapshot.get(name, key, signal);
    const json = await snapshot.getJson!(name, key, signal);
    return json && JSON.parse(json);
  };
  const check = (found: readonly unknown[]) => {
    for (const [i, key] of keys.entries()) {
      sameValue(found[i], documentAt(collection, documents, key), `${method}("${name}", ${JSON.stringify(key)})`);
    }
    if (way === 'changed') modify(found);
  };
  return [keys, () => calling(seeds, (signal) => Promise.all(keys.map((key) => get(key, signal))), check)];
};

const readList = (seeds: Seeds, source: Source): [unknown, Run] => {
  const { snapshot, method, collection, documents, sample, searches, way } = source;
  const query = findQueryOf(seeds, collection, sample, searches);
  const read = (signal?: AbortSignal) =>
    WAYS[way]({ snapshot, method: method as ListMethod, collection, query: copied(query, way), signal });
  const check = ({ documents: found, isPart }: Found) => {
    const expected = searchedFor(collection, documents, query);
    sameDocuments(collection, found, isPart ? expected.slice(0, found.length) : expected, query);
    if (way === 'changed' && method === 'find') modify(found);
  };
  return [query, () => calling(seeds, read, check)];
};

const readOf = (
  seeds: Seeds,
  versions: readonly Version[],
  together: boolean,
): { readonly method: Method; readonly read: Read } => {
  const source = sourceOf(seeds, versions, together);
  const { method, collection, snapshot, way } = source;
  const make = method === 'totals' ? totalsRead : method.startsWith('get') ? readByKeys : readList;
  const [query, run] = make(seeds, source);
  return {
    method,
    read: { shown: `${method}("${collection.name}", ${JSON.stringify(query)}) of ${snapshot.version}, ${way}`, run },
  };
};

/** Makes random reads of a snapshot, one after another. */
export const readsAnything = async (version: Version, seed: number, count: number): Promise<void> => {
  const random = new Random(seed);
  const seedOf = (part: Part) => (part === 'signal' || random.oneIn(3) ? 0 : random.below(1_000_000));
  for (let i = 0; i < count; i++) {
    const seeds = Object.fromEntries(PARTS.map((part) => [part, seedOf(part)])) as Seeds;
    const { read } = readOf(seeds, [version], true);
    try {
      await read.run();
    } catch (error) {
      if (error instanceof AssertionError) error.message = `${read.shown}: ${error.message}`;
      throw error;
    }
  }
};

/** A sequence of reads. Each change in `changes` replaces one part of the previous read. */
export interface Example {
  readonly first: Seeds;
  readonly changes: readonly { readonly part: number; readonly seed: number }[];
  readonly together: boolean;
}

export const examples = (check: Check) => {
  const { array, boolean, constantFrom, noBias, oneof, record } = check;
  const seed = anySeed(check);
  const change = record({ part: seed, seed: oneof(constantFrom(0), seed) });
  const changes = noBias(array(change, { maxLength: MOST_CHANGES, size: 'max' }));
  return record({ first: seedsOf(check), changes, together: boolean() });
};

const readsOf = ({ first, changes, together }: Example, versions: readonly Version[]): readonly Read[] => {
  let seeds = first;
  let { method, read } = readOf(seeds, versions, together);
  const reads = [read];
  for (const { part, seed } of changes) {
    const parts = relevantTo(method);
    seeds = { ...seeds, [parts[part % parts.length]!]: seed };
    ({ method, read } = readOf(seeds, versions, together));
    reads.push(read);
  }
  return reads;
};

export const isRight = async (
  example: Example,
  versions: readonly Version[],
  { adapter }: Pick<Opened, 'adapter'>,
): Promise<void> => {
  const reads = readsOf(example, versions);
  if (example.together) await Promise.all(reads.map((read) => read.run()));
  else for (const read of reads) await read.run();
  // Another snapshot of the same version must not affect the snapshots that are held.
  adapter.snapshot().release();
  await reads[0]!.run();
};

/** Lists the reads of an example for an error message. */
export const shownReads = (example: Example, versions: readonly Version[]): string =>
  [`  ${example.together ? 'at the same time' : 'one after the other'}:`]
    .concat(readsOf(example, versions).map(({ shown }) => `  ${shown}`))
    .join('\n');
