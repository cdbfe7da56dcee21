/**
 * Compares random reads with a reference, to detect a read that returns the result of another read. Within an example,
 * each read changes one part of the previous read. The reads run one after another or at the same time. Some reads are
 * aborted or stopped early.
 */
import {
  type Collection,
  type Document,
  type Group,
  type Scalar,
  type Snapshot,
  StorageError,
  type TotalsQuery,
} from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { combinations } from './combinations.js';
import { readsEvery, sameDocuments } from './every-row.js';
import { sameSequence, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import {
  datasetOf,
  FIRST,
  FIRST_CREATED,
  items,
  numbers,
  pairs,
  type Rows,
  readings,
  SECOND,
  SECOND_CREATED,
  spots,
  twins,
  words,
} from './fixture.js';
import { type Instance, makeCurrent, startInstance } from './instance.js';
import { letters } from './letter-rows.js';
import { cannotChange, itUnless } from './obstacles.js';
import { type Check, fc, holds, WITHOUT_FAST_CHECK } from './property.js';
import {
  anySeed,
  FIND_PARTS,
  findQueryOf,
  KEY_PARTS,
  keysOf,
  type Part,
  type Seeds,
  SUMMED,
  seedsOf,
  TOTALS_PARTS,
  totalsQueryOf,
} from './random-queries.js';
import { randomVersions, wide, wider } from './random-rows.js';
import { Random } from './random-values.js';
import { answerOf, documentAt, inOrder, searchedFor, totalsIn, withSumsOf } from './reference.js';

const EXAMPLES = 500;
const MOST_CHANGES = 8;
/** A collection that is listed twice is read more often. */
const collections = [wide, wider, wide, spots, letters, wide, pairs, readings, words, wider, numbers, items, twins];
/** Collections with fields that most queries for totals can use. */
const totalled = [wide, wider, wide, letters, readings, spots, wide, items, wider, pairs];

interface Read {
  /** The method and its arguments, for error messages. */
  readonly shown: string;
  /** Calls the method of the adapter and of the reference. Rejects if the results differ. */
  run(): Promise<void>;
}

interface Version {
  readonly snapshot: Snapshot;
  readonly rows: Rows;
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
  readonly searches: boolean;
  /**
   * Maximum number of keys that a read requests at the same time. The number is small if other reads run at the same
   * time, because an adapter may reject reads that wait for a connection. It is also small for aborted reads, because
   * each one may cost a connection.
   */
  readonly mostKeys: number;
}

const sourceOf = (seeds: Seeds, versions: readonly Version[], together: boolean): Source => {
  const version = versions[seeds.version % versions.length]!;
  const { snapshot, rows } = version;
  const methods = methodsOf(snapshot);
  const method = methods[seeds.method % methods.length]!;
  const choices = method === 'totals' ? totalled : collections;
  const collection = choices[seeds.collection % choices.length]!;
  return {
    ...version,
    method,
    collection,
    documents: rows[collection.name]!,
    searches: snapshot.searches === true && collection.search !== undefined,
    mostKeys: seeds.signal === 0 && !together ? Number.POSITIVE_INFINITY : 2,
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

const totalsRead = (seeds: Seeds, { snapshot, collection, documents, searches }: Source): [unknown, Run] => {
  const query = totalsQueryOf(seeds, collection, documents, searches);
  const call = (signal?: AbortSignal) => snapshot.totals!(collection.name, structuredClone(query), signal);
  const check = (found: readonly Group[] | undefined) => {
    if (found) sameTotals(found, totalsIn(collection, documents, query), query);
  };
  return [query, () => calling(seeds, call, check)];
};

const readByKeys = (seeds: Seeds, { snapshot, method, collection, documents, mostKeys }: Source): [unknown, Run] => {
  const { name } = collection;
  const keys = keysOf(seeds.keys, collection, documents).slice(0, mostKeys);
  const get = async (key: readonly Scalar[], signal?: AbortSignal) => {
    if (method === 'get') return snapshot.get(name, key, signal);
    const json = await snapshot.getJson!(name, key, signal);
    return json && JSON.parse(json);
  };
  const check = (found: readonly unknown[]) => {
    for (const [i, key] of keys.entries()) {
      sameValue(found[i], documentAt(collection, documents, key), `${method}("${name}", ${JSON.stringify(key)})`);
    }
  };
  return [keys, () => calling(seeds, (signal) => Promise.all(keys.map((key) => get(key, signal))), check)];
};

const readList = (seeds: Seeds, { snapshot, method, collection, documents, searches }: Source): [unknown, Run] => {
  const query = findQueryOf(seeds, collection, documents, searches);
  const expected = () => searchedFor(collection, documents, query);
  const asked = () => structuredClone(query);
  const read = method === 'find' ? find : findJson;
  const whole = () =>
    calling(
      seeds,
      (signal) => read(snapshot, collection, asked(), signal),
      (found) => sameDocuments(collection, found, expected(), query),
    );
  const start = async () => {
    for await (const batch of snapshot.find(collection.name, asked())) {
      return sameDocuments(collection, batch, expected().slice(0, batch.length), query);
    }
  };
  return [query, method === 'find' && seeds.signal % 10 === 1 ? start : whole];
};

const readOf = (
  seeds: Seeds,
  versions: readonly Version[],
  together: boolean,
): { readonly method: Method; readonly read: Read } => {
  const source = sourceOf(seeds, versions, together);
  const { method, collection, snapshot } = source;
  const make = method === 'totals' ? totalsRead : method.startsWith('get') ? readByKeys : readList;
  const [query, run] = make(seeds, source);
  return {
    method,
    read: { shown: `${method}("${collection.name}", ${JSON.stringify(query)}) of ${snapshot.version}`, run },
  };
};

/** A sequence of reads. Each change in `changes` replaces one part of the previous read. */
interface Example {
  readonly first: Seeds;
  readonly changes: readonly { readonly part: number; readonly seed: number }[];
  readonly together: boolean;
}

const examples = (check: Check) => {
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

const isRight = async (example: Example, versions: readonly Version[], { adapter }: Instance): Promise<void> => {
  const reads = readsOf(example, versions);
  if (example.together) await Promise.all(reads.map((read) => read.run()));
  else for (const read of reads) await read.run();
  // Another snapshot of the same version must not affect the snapshots that are held.
  adapter.snapshot().release();
  await reads[0]!.run();
};

const hold = async (target: AdapterUnderTest, instance: Instance, [first, second]: readonly [Rows, Rows]) => {
  const { adapter } = instance;
  const held: Version[] = [{ snapshot: adapter.snapshot(), rows: first }];
  if (cannotChange(target)) return held;
  await makeCurrent(target, instance, datasetOf(SECOND, SECOND_CREATED, second));
  held.push({ snapshot: adapter.snapshot(), rows: second });
  const earlier = await adapter.versions?.asOf(new Date(FIRST_CREATED));
  if (earlier) held.push({ snapshot: earlier, rows: first });
  return held;
};

export const describeRandomReads = (target: AdapterUnderTest): void => {
  describe('random reads', () => {
    let instance: Instance;
    let versionsHeld: readonly Version[] = [];
    before(async () => {
      const rows = randomVersions();
      const named = new Map(collections.map((each) => [each.name, each]));
      instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, rows[0]), named);
      versionsHeld = await hold(target, instance, rows);
    });
    after(async () => {
      for (const { snapshot } of versionsHeld) snapshot.release();
      await instance?.stop();
    });

    it('return every document of each version as it was published', async () => {
      for (const { snapshot, rows } of versionsHeld.slice(0, 2)) {
        for (const collection of [wide, wider, letters]) {
          await readsEvery(snapshot, collection, rows[collection.name]!);
        }
      }
    });

    it('combine ranges of every size with every order, direction, position and limit', async () => {
      const { snapshot, rows } = versionsHeld[0]!;
      const documents = rows[wide.name]!;
      for (const query of combinations(wide, documents)) {
        sameSequence(wide, await find(snapshot, wide, query), answerOf(documents, query), query);
      }
    });

    itUnless(WITHOUT_FAST_CHECK, 'return what the reference returns, alone and at the same time', () =>
      holds(
        examples(fc!),
        EXAMPLES,
        (example) => isRight(example, versionsHeld, instance),
        (example) =>
          [`  ${example.together ? 'at the same time' : 'one after the other'}:`]
            .concat(readsOf(example, versionsHeld).map(({ shown }) => `  ${shown}`))
            .join('\n'),
      ),
    );
  });
};
