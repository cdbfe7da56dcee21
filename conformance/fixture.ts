/** The suite's own dataset: collections that bring every case of the contract, and no real subject. */
import type { Collection, Document, Manifest } from '../core/contracts/dataset.js';
import type { Dataset } from '../core/contracts/storage.js';
import { compareBy } from '../core/storage/compare.js';

const object = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
const string = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };

/** One key field, and orders whose leading fields tie. */
export const items: Collection = {
  name: 'items',
  key: ['id'],
  orders: [
    ['rank', 'grade', 'id'],
    ['grade', 'rank', 'id'],
  ],
  schema: object({ id: string, grade: string, rank: integer, label: string }),
};

/** A key of three fields, of two types. */
export const readings: Collection = {
  name: 'readings',
  key: ['station', 'day', 'hour'],
  orders: [['day', 'station', 'hour']],
  schema: object({ station: string, day: string, hour: integer, value: number }),
};

/** Keys that are numbers, from edge to edge of a double. */
export const numbers: Collection = {
  name: 'numbers',
  key: ['value'],
  schema: object({ value: number, twice: { type: 'array', items: number } }),
};

/** Keys that are strings of every kind. */
export const words: Collection = { name: 'words', key: ['word'], schema: object({ word: string, units: integer }) };

/** Documents of every shape that JSON allows. */
export const shapes: Collection = { name: 'shapes', key: ['id'], schema: object({ id: string }) };

export const nothing: Collection = { name: 'nothing', key: ['id'], schema: object({ id: string }) };

/** More documents than one batch of anybody's holds. */
export const crowd: Collection = {
  name: 'crowd',
  key: ['block', 'seat'],
  orders: [['score', 'block', 'seat']],
  schema: object({ block: integer, seat: integer, score: integer, name: string }),
};

export const collections: ReadonlyMap<string, Collection> = new Map(
  [items, readings, numbers, words, shapes, nothing, crowd].map((collection) => [collection.name, collection]),
);

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

const numberRows = [
  -Number.MAX_VALUE,
  Number.MIN_SAFE_INTEGER,
  -(2 ** 31) - 1,
  -10,
  -9.5,
  -Number.MIN_VALUE,
  0,
  Number.MIN_VALUE,
  Number.EPSILON,
  0.1,
  0.3,
  0.1 + 0.2,
  1 / 3,
  2,
  10,
  2 ** 32,
  2 ** 53 - 2,
  Number.MAX_SAFE_INTEGER,
  1e21,
  Number.MAX_VALUE,
].map((value) => ({ value, twice: [value, value] }));

/** In the order of their code points. */
export const orderedWords = [
  '',
  '\0',
  ' ',
  '$gt',
  '%',
  '.*',
  '10',
  '9',
  'A',
  'A\0',
  'A\0B',
  'AB',
  'Z',
  '_',
  'a',
  'a.b',
  'e\u0301',
  'ä',
  'é',
  'ß',
  'ﬁ',
  '\uffee',
  '\uffff',
  '𐀀',
  '👩',
  '👩‍💻',
  '😀',
].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

const shapeRows: readonly Document[] = [
  { id: 'absent' },
  { id: 'booleans', yes: true, no: false },
  { id: 'empty', text: '', list: [], object: {}, deep: [[], [{}], [[null]]] },
  { id: 'names', 'a.b': 1, a: { b: 2, 'c.d': 3 }, $set: { $gt: 4 }, 'with space': 5, ключ: 6, '😀': 7, '': 8 },
  { id: 'nested', list: [1, 'two', { three: [3, { four: 4 }] }, null], object: { x: { y: { z: [] } } } },
  { id: 'nulls', nothing: null, object: { nothing: null }, list: [null] },
  {
    id: 'prototype',
    // In brackets, since a bare `__proto__` would set the prototype.
    nested: { ['__proto__']: { polluted: 'yes' }, constructor: 'x', toString: 1, hasOwnProperty: null },
    values: ['__proto__', 'constructor', 'prototype'],
  },
  { id: 'text', quotes: '"\'`', lines: 'a\r\nb\u2028c', markup: '<&>', nul: 'a\0b', emoji: '👩‍💻' },
  {
    id: 'types',
    digits: '123',
    truth: 'true',
    date: '2024-02-30',
    time: '2024-01-01T00:00:00Z',
    oid: '0123456789abcdef01234567',
  },
];

export const CROWD_BLOCKS = 50;
export const CROWD_SEATS = 1000;

const crowdRows = (): Document[] =>
  Array.from({ length: CROWD_BLOCKS * CROWD_SEATS }, (_, i) => ({
    block: Math.floor(i / CROWD_SEATS) - 5,
    seat: i % CROWD_SEATS,
    score: (i * 7919) % 1000,
    name: `Somebody in seat ${i}`,
  }));

export type Rows = Readonly<Record<string, readonly Document[]>>;

const inKeyOrder = (rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([name, documents]) => [name, [...documents].sort(compareBy(collections.get(name)!.key))]),
  );

/** The rows of every collection, in key order; `crowd` has none. */
export const rows: Rows = inKeyOrder({
  items: itemRows,
  readings: readingRows,
  numbers: numberRows,
  words: orderedWords.map((word) => ({ word, units: word.length })),
  shapes: shapeRows,
  nothing: [],
  crowd: [],
});

let crowded: Rows | undefined;

/** The same with `crowd` filled; made when first asked for. */
export const rowsWithCrowd = (): Rows => {
  crowded ??= { ...rows, crowd: crowdRows() };
  return crowded;
};

export const manifestOf = (version: string, created: string): Manifest => ({
  format: 1,
  version,
  created,
  vintage: created.slice(0, 10),
  synthetic: true,
  sources: [
    {
      id: 'suite',
      title: 'The conformance suite',
      cadence: 'daily',
      latest_period: created.slice(0, 10),
      last_loaded_at: null,
      late_after_seconds: 86_400,
      stale_after_seconds: 172_800,
    },
  ],
});

const BATCH = 700;

async function* inBatches(documents: readonly Document[]) {
  yield [];
  // Copies, so that whatever an adapter does to them spoils no other test.
  for (let start = 0; start < documents.length; start += BATCH) {
    yield structuredClone(documents.slice(start, start + BATCH));
  }
}

export const FIRST = 'first-1';
export const FIRST_CREATED = '2024-01-01T00:00:00.000Z';
export const SECOND = 'second-2';
export const SECOND_CREATED = '2024-02-01T00:00:00.000Z';

/** A dataset of these rows; batches come in several sizes, none included. */
export const datasetOf = (version = FIRST, created = FIRST_CREATED, content: Rows = rows): Dataset => ({
  manifest: manifestOf(version, created),
  read: (collection) => inBatches(content[collection] ?? []),
});

/** The items of another version: each label tells the version, the first row is gone, and a last one is new. */
export const itemsOf = (version: string): readonly Document[] => [
  ...rows['items']!.slice(1).map((item) => ({ ...item, label: version })),
  { id: 'i99', grade: 'z', rank: 0, label: version },
];

/** A dataset whose items are `itemsOf(version)`. */
export const anotherDataset = (version = SECOND, created = SECOND_CREATED): Dataset =>
  datasetOf(version, created, { ...rows, items: itemsOf(version) });
