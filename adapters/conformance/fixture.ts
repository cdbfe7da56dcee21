/** The dataset that the suite publishes. Its collections cover all cases of the adapter contract. */
import { type Collection, compareBy, type Dataset, type Document, type StoreLimits } from 'metro-forecast-api/adapter';
import { copyOf } from './copies.js';
import { manifestOf } from './manifest.js';
import {
  columnRows,
  crowdRows,
  itemRows,
  LONG_NAMES,
  mixed,
  pairRows,
  RESERVED_NAMES,
  readingRows,
  spotRows,
  typedRows,
  zeros,
} from './rows.js';
import { numbers as numberValues, shapes as shapeValues, words as wordValues } from './tricky-values.js';

const object = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
const string = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
export const orNull = (type: string) => ({ type: [type, 'null'] });

/** A collection whose key has a single field. Several rows share the first field of each sort order. */
export const items: Collection = {
  name: 'items',
  key: ['id'],
  orders: [
    ['rank', 'grade', 'id'],
    ['grade', 'rank', 'id'],
  ],
  schema: object({ id: string, grade: string, rank: integer, label: string }),
};

/** A collection whose key has three fields, which are strings and numbers. */
export const readings: Collection = {
  name: 'readings',
  key: ['station', 'day', 'hour'],
  orders: [['day', 'station', 'hour']],
  schema: object({ station: string, day: string, hour: integer, value: number }),
};

/**
 * A collection with the same keys as `items`, but different documents. Its name starts with `items`, to catch adapters
 * that match names by prefix.
 */
export const twins: Collection = { ...items, name: 'items_twins' };

export const nothing: Collection = { name: 'nothing', key: ['id'], schema: object({ id: string }) };

/** A collection with more documents than fit into one batch of any adapter. */
export const crowd: Collection = {
  name: 'crowd',
  key: ['block', 'seat'],
  // Of guests with the same score, the second order is neither the order of the keys nor its reverse.
  orders: [
    ['score', 'block', 'seat'],
    ['score', 'name', 'block', 'seat'],
  ],
  schema: object({ block: integer, seat: integer, score: integer, name: string }),
};

/** A collection whose keys are numbers from the full range of a double. */
export const numbers: Collection = {
  name: 'numbers',
  key: ['value'],
  schema: object({ value: number, label: string }),
};

/** The key has the same name as that of `numbers`, but its values are strings. */
export const words: Collection = { name: 'words', key: ['value'], schema: object({ value: string, units: integer }) };

/** A collection whose keys have two fields. Some keys collide in an adapter that joins the fields with a separator. */
export const pairs: Collection = {
  name: 'pairs',
  key: ['left', 'right'],
  orders: [['right', 'left']],
  schema: object({ left: string, right: string, label: string }),
};

/**
 * A collection with sort orders that use fields outside the key. These fields contain strings and numbers of every
 * kind, and some values occur more than once.
 */
export const spots: Collection = {
  name: 'spots',
  key: ['id'],
  orders: [
    ['name', 'size', 'id'],
    ['size', 'name', 'id'],
  ],
  schema: object({ id: integer, name: string, size: number }),
};

/** A collection with documents of every shape that JSON allows. */
export const shapes: Collection = { name: 'shapes', key: ['id'], schema: object({ id: string }) };

const [LONG_A, LONG_B] = LONG_NAMES;

/**
 * A collection whose field names are reserved in some stores, or used by an adapter for its own columns. Two orders
 * would get the same index name if an adapter joined their fields with underscores, or cut names to 63 characters.
 */
export const columns: Collection = {
  name: 'columns',
  key: ['order'],
  orders: [
    ['group', 'order_id', 'order'],
    ['group_order', 'id', 'order'],
    ['rowid', 'constructor', 'order'],
    ['doc', 'version', 'order'],
    [LONG_A, 'order'],
    [LONG_B, 'order'],
  ],
  schema: object({
    order: integer,
    ...Object.fromEntries(
      ['group', 'group_order', 'doc', 'version', 'constructor', LONG_A].map((name) => [name, string]),
    ),
    ...Object.fromEntries(['order_id', 'id', 'rowid', LONG_B].map((name) => [name, integer])),
  }),
};

/** A collection with an optional field of each type that a schema can declare. */
export const records: Collection = {
  name: 'records',
  key: ['code'],
  schema: {
    type: 'object',
    properties: {
      code: string,
      flag: orNull('boolean'),
      count: orNull('integer'),
      ratio: orNull('number'),
      note: orNull('string'),
      tags: orNull('array'),
      extra: orNull('object'),
    },
    required: ['code'],
  },
};

const byName = (list: readonly Collection[]): ReadonlyMap<string, Collection> =>
  new Map(list.map((collection) => [collection.name, collection]));

/** The collections used by all tests except the read tests. */
export const collections = byName([items, readings, twins, nothing, crowd]);

/** All collections, including those with values that stores often handle incorrectly. */
export const allCollections = byName([
  ...collections.values(),
  ...[numbers, words, pairs, spots, shapes, records, columns],
  ...RESERVED_NAMES.map((name) => ({ ...nothing, name })),
]);

export type Rows = Readonly<Record<string, readonly Document[]>>;

const inKeyOrder = (rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([name, documents]) => [
      name,
      documents.toSorted(compareBy(allCollections.get(name)!.key)),
    ]),
  );

export const rows: Rows = inKeyOrder({
  items: itemRows,
  readings: readingRows,
  items_twins: itemRows.map((item) => ({ ...item, label: `Twin of ${item.id}` })),
  nothing: [],
  crowd: [],
});

const once = (make: () => Rows): (() => Rows) => {
  let made: Rows | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

const crowded = once(() => ({ crowd: crowdRows() }));

export const rowsWithCrowd = once(() => ({ ...rows, ...crowded() }));

/** Rows that take several milliseconds to store. */
export const largeRows = once(() => ({ ...rows, crowd: rowsWithCrowd()['crowd']!.slice(0, 20_000) }));

let limits: StoreLimits = {};

/** Sets the limits of the adapter under test. `allRows` omits rows that exceed the limits. */
export const useLimits = (of: StoreLimits = {}): void => {
  limits = of;
};

export const isWithin = ({ key, orders = [] }: Collection, document: Document, most = Infinity): boolean => {
  const { keyBytes = most, rowBytes = Infinity } = limits;
  const bytes = (value: unknown) => (typeof value === 'string' ? Buffer.byteLength(value) : 8);
  const sizes = [key, ...orders].map((order) => order.reduce((sum, field) => sum + bytes(document[field]), 0));
  return Math.max(...sizes) <= keyBytes && Buffer.byteLength(JSON.stringify(document)) <= rowBytes;
};

const everyRow = once(() => ({
  ...rows,
  ...inKeyOrder({
    numbers: numberValues.map((value) => ({ value, label: String(value) })),
    words: wordValues.map((value) => ({ value, units: value.length })),
    pairs: pairRows,
    spots: spotRows,
    shapes: [...shapeValues.map(({ document }) => document), zeros, ...mixed],
    columns: columnRows,
    records: typedRows,
    ...Object.fromEntries(RESERVED_NAMES.map((name) => [name, [{ id: 'it' }, { id: `of ${name}` }]])),
  }),
}));

const chosen = new WeakMap<StoreLimits, Rows>();

/**
 * The rows that are within the limits, in key order. They include all collections except `crowd`, whose rows are in
 * `allRowsWithCrowd`.
 */
export const allRows = (): Rows => {
  const known = chosen.get(limits);
  if (known) return known;
  const within = Object.entries(everyRow()).map(([name, documents]) => [
    name,
    documents.filter((document) => isWithin(allCollections.get(name)!, document)),
  ]);
  chosen.set(limits, Object.fromEntries(within));
  return allRows();
};

export const allRowsWithCrowd = (): Rows => ({ ...allRows(), ...crowded() });

const BATCH = 700;

/**
 * Yields batches of `size` documents, and an empty batch before each of them and at the end. The documents are copies,
 * so adapters can modify them.
 */
export async function* inBatches(documents: readonly Document[], size = BATCH) {
  for (let start = 0; start < documents.length; start += size) {
    yield [];
    yield documents.slice(start, start + size).map(copyOf);
  }
  yield [];
}

export const FIRST = 'first-1';
export const FIRST_CREATED = '2024-01-01T12:34:56.789Z';
export const SECOND = 'second-2';
export const SECOND_CREATED = '2024-02-01T00:00:00Z';
export const THIRD = '3-third';
export const THIRD_CREATED = '2024-03-01T23:59:59.999Z';
export const FOURTH = 'fourth-4';
export const FOURTH_CREATED = '2024-04-01T00:00:00Z';

export const datasetOf = (
  version = FIRST,
  created = FIRST_CREATED,
  content: Rows = rows,
  batchSize?: number,
): Dataset => ({
  manifest: manifestOf(version, created),
  read: (collection) => inBatches(content[collection] ?? [], batchSize),
});

/**
 * Returns the items of a later version. Their labels contain the version, one row was removed, and one row was added.
 */
export const itemsOf = (version: string): readonly Document[] => [
  ...rows['items']!.slice(1).map((item) => ({ ...item, label: version })),
  { id: 'i99', grade: 'z', rank: 0, label: version },
];

export const anotherDataset = (version = SECOND, created = SECOND_CREATED): Dataset =>
  datasetOf(version, created, { ...rows, items: itemsOf(version) });

export const brokenDataset = (cause: Error, version = SECOND, before: () => unknown = () => {}): Dataset => {
  const whole = anotherDataset(version);
  return {
    ...whole,
    async *read(collection) {
      yield* whole.read(collection);
      if (collection !== 'crowd') return;
      await before();
      throw cause;
    },
  };
};

export const crowdedDataset = (): Dataset => datasetOf(FIRST, FIRST_CREATED, rowsWithCrowd());

export const itemsIn = (version: string): readonly Document[] =>
  version === FIRST ? rows['items']! : itemsOf(version);

/** Returns the expected result of `list()` after three publications. */
export const listWith = (current: string) =>
  [[THIRD, THIRD_CREATED] as const, [SECOND, SECOND_CREATED] as const, [FIRST, FIRST_CREATED] as const].map(
    ([version, created]) => ({ version, publishedAt: new Date(created), current: version === current }),
  );

export const aboutDataset = (version: string, created: string) => ({
  version,
  publishedAt: new Date(created),
  manifest: manifestOf(version, created),
});
