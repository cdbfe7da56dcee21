/** The dataset that the suite publishes. Its collections cover every case of the adapter contract. */
import { type Collection, compareBy, type Dataset, type Document, type Manifest } from 'metro-forecast-api/adapter';
import { numbers as numberValues, shapes as shapeValues, typedRows, words as wordValues } from './tricky-values.js';

const object = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
const string = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const orNull = (type: string) => ({ type: [type, 'null'] });

/** Has a key of one field, and orders in which several documents have equal values in the leading fields. */
export const items: Collection = {
  name: 'items',
  key: ['id'],
  orders: [
    ['rank', 'grade', 'id'],
    ['grade', 'rank', 'id'],
  ],
  schema: object({ id: string, grade: string, rank: integer, label: string }),
};

/** Has a key of three fields, which have two types. */
export const readings: Collection = {
  name: 'readings',
  key: ['station', 'day', 'hour'],
  orders: [['day', 'station', 'hour']],
  schema: object({ station: string, day: string, hour: integer, value: number }),
};

/** Has the keys of `items`, but other documents. The name detects adapters that match names by prefix. */
export const twins: Collection = { ...items, name: 'items_twins' };

export const nothing: Collection = { name: 'nothing', key: ['id'], schema: object({ id: string }) };

/** Has more documents than fit into one batch of any adapter. */
export const crowd: Collection = {
  name: 'crowd',
  key: ['block', 'seat'],
  orders: [['score', 'block', 'seat']],
  schema: object({ block: integer, seat: integer, score: integer, name: string }),
};

/** Has numeric keys across the whole range of a double. */
export const numbers: Collection = {
  name: 'numbers',
  key: ['value'],
  schema: object({ value: number, label: string }),
};

/** Has string keys of every kind. */
export const words: Collection = { name: 'words', key: ['word'], schema: object({ word: string, units: integer }) };

/** Has keys of two strings, which become equal if an adapter joins the strings carelessly. */
export const pairs: Collection = {
  name: 'pairs',
  key: ['left', 'right'],
  orders: [['right', 'left']],
  schema: object({ left: string, right: string, label: string }),
};

/** Has orders by strings and numbers of every kind that are not part of the key. Some values are equal. */
export const spots: Collection = {
  name: 'spots',
  key: ['id'],
  orders: [
    ['name', 'size', 'id'],
    ['size', 'name', 'id'],
  ],
  schema: object({ id: integer, name: string, size: number }),
};

/** Has documents of every shape that JSON allows. */
export const shapes: Collection = { name: 'shapes', key: ['id'], schema: object({ id: string }) };

/** Has an optional field of each type that a schema can declare. */
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

/** The collections that all tests except the reading tests use. */
export const collections = byName([items, readings, twins, nothing, crowd]);

/** `collections`, together with the collections of tricky values. */
export const allCollections = byName([...collections.values(), numbers, words, pairs, spots, shapes, records]);

const itemRows = Array.from({ length: 24 }, (_, i) => ({
  id: `i${String(i + 1).padStart(2, '0')}`,
  grade: 'cab'[i % 3],
  rank: [10, 9, -1, 2][(i * 7) % 4],
  label: `Item ${i + 1}`,
}));

const readingRows = ['north', 'south', 'west'].flatMap((station, s) =>
  ['2024-01-30', '2024-01-31', '2024-02-01', '2024-02-02'].flatMap((day, d) =>
    [1, 2, 9, 10, 12].map((hour) => ({ station, day, hour, value: s * 100 + d * 10 + hour / 4 })),
  ),
);

const parts = ['', ' ', 'a', 'a ', 'a\0', 'a,', 'a|', 'aa', 'a","', '|a', ',a', '1', 'b'];
const pairRows = parts.flatMap((left) => parts.map((right) => ({ left, right, label: JSON.stringify([left, right]) })));

// biome-ignore format: in rows
const names = [
  '', ' ', 'A', 'A ', 'a', 'aa', 'a\0', 'Z', 'b', '10', '9', '01001', '1001', '\u00e9', 'e\u0301', '\uffff', '𐀀', '😀',
];
// biome-ignore format: in rows
const sizes = [
  -(2 ** 31) - 1, -16_777_217, -16_777_216, -10, -9, -0.5, 0, 0.1 + 0.2, 0.3, 9, 10, 16_777_217, 16_777_216,
];
// Each name is used for four consecutive rows, and the size moves on by 5 of the 13 sizes with each row. So each name
// has several sizes, and each size has several names.
const spotRows = Array.from({ length: names.length * 4 }, (_, i) => ({
  id: [Number.MAX_SAFE_INTEGER, 2 ** 32 + 1, -(2 ** 31) - 5][i] ?? ((i * 29) % (names.length * 4)) - 20,
  name: names[Math.floor(i / 4)],
  size: sizes[(Math.floor(i / 2) * 5) % sizes.length],
}));

export const CROWD_BLOCKS = 50;
export const CROWD_SEATS = 1000;

const crowdRows = (): Document[] =>
  Array.from({ length: CROWD_BLOCKS * CROWD_SEATS }, (_, i) => ({
    block: Math.floor(i / CROWD_SEATS) - 5,
    seat: i % CROWD_SEATS,
    score: (i * 7919) % 1000,
    name: `The guest in seat ${i}`,
  }));

export type Rows = Readonly<Record<string, readonly Document[]>>;

const inKeyOrder = (rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([name, documents]) => [
      name,
      documents.toSorted(compareBy(allCollections.get(name)!.key)),
    ]),
  );

/** The rows of `collections`, in key order; `crowd` has none. */
export const rows: Rows = inKeyOrder({
  items: itemRows,
  readings: readingRows,
  items_twins: itemRows.map((item) => ({ ...item, label: `Twin of ${item.id}` })),
  nothing: [],
  crowd: [],
});

/** Wraps `make` so that it runs at the first call only; later calls return the same result. */
const once = (make: () => Rows): (() => Rows) => {
  let made: Rows | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

const crowded = once(() => ({ crowd: crowdRows() }));

/** The rows of `collections`, including `crowd`. */
export const rowsWithCrowd = once(() => ({ ...rows, ...crowded() }));

/** The rows of `allCollections`, in key order; `crowd` has none. */
export const allRows = once(() => ({
  ...rows,
  ...inKeyOrder({
    numbers: numberValues.map((value) => ({ value, label: String(value) })),
    words: wordValues.map((word) => ({ word, units: word.length })),
    pairs: pairRows,
    spots: spotRows,
    shapes: shapeValues.map(({ document }) => document),
    records: typedRows,
  }),
}));

/** The rows of `allCollections`, including `crowd`. */
export const allRowsWithCrowd = once(() => ({ ...allRows(), ...crowded() }));

/** Returns a manifest in which every field has a unique value, so that an adapter cannot derive one from another. */
export const manifestOf = (version: string, created: string): Manifest => ({
  format: 1,
  version,
  created,
  vintage: '2023-11-15',
  synthetic: true,
  sources: [
    {
      id: 'suite',
      title: 'The conformance suite – été',
      cadence: 'daily',
      latest_period: '2023-11-14',
      last_loaded_at: '2023-11-15T06:07:08.009Z',
      late_after_seconds: 86_400,
      stale_after_seconds: 172_800,
      attribution: 'Source: "the suite", 2023',
    },
    {
      id: 'another',
      title: 'A',
      cadence: 'quarterly',
      latest_period: null,
      last_loaded_at: null,
      late_after_seconds: 0,
      stale_after_seconds: 0,
      attribution: null,
    },
    {
      id: 'a third',
      title: 'B',
      cadence: 'annual',
      latest_period: null,
      last_loaded_at: null,
      late_after_seconds: 1,
      stale_after_seconds: 2,
    },
  ],
});

const BATCH = 700;

/** Yields an empty batch, then batches of `size` documents. The documents are copies, so adapters may change them. */
export async function* inBatches(documents: readonly Document[], size = BATCH) {
  yield [];
  for (let start = 0; start < documents.length; start += size) {
    yield structuredClone(documents.slice(start, start + size));
  }
}

export const FIRST = 'first-1';
export const FIRST_CREATED = '2024-01-01T12:34:56.789Z';
export const SECOND = 'second-2';
export const SECOND_CREATED = '2024-02-01T00:00:00Z';
export const THIRD = 'third-3';
export const THIRD_CREATED = '2024-03-01T23:59:59.999Z';

/** Returns a dataset that yields the given rows in batches of the given size. */
export const datasetOf = (
  version = FIRST,
  created = FIRST_CREATED,
  content: Rows = rows,
  batchSize?: number,
): Dataset => ({
  manifest: manifestOf(version, created),
  read: (collection) => inBatches(content[collection] ?? [], batchSize),
});

/** Returns the items of another version: labels name the version, the first row is missing, and a row is added. */
export const itemsOf = (version: string): readonly Document[] => [
  ...rows['items']!.slice(1).map((item) => ({ ...item, label: version })),
  { id: 'i99', grade: 'z', rank: 0, label: version },
];

/** Returns a dataset whose items are `itemsOf(version)`. */
export const anotherDataset = (version = SECOND, created = SECOND_CREATED): Dataset =>
  datasetOf(version, created, { ...rows, items: itemsOf(version) });

/** Returns a dataset that includes the rows of `crowd`. */
export const crowdedDataset = (): Dataset => datasetOf(FIRST, FIRST_CREATED, rowsWithCrowd());

/** Returns the items of a version: those in `rows` for the first version, otherwise `itemsOf(version)`. */
export const itemsIn = (version: string): readonly Document[] =>
  version === FIRST ? rows['items']! : itemsOf(version);

/** Returns the expected result of `list()` for the first three versions. */
export const listWith = (current: string) =>
  [[THIRD, THIRD_CREATED] as const, [SECOND, SECOND_CREATED] as const, [FIRST, FIRST_CREATED] as const].map(
    ([version, created]) => ({ version, publishedAt: new Date(created), current: version === current }),
  );

/** Returns the expected properties of a snapshot. */
export const aboutDataset = (version: string, created: string) => ({
  version,
  publishedAt: new Date(created),
  manifest: manifestOf(version, created),
});
