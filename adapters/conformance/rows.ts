import type { Document } from 'metro-forecast-api/adapter';

/** Separators with which some stores join the fields of a key. */
// biome-ignore format: in rows
const SEPARATORS = [
  ':', '::', '/', '\\', '-', '_', '.', ';', '#', '~', '!', '%', '=', '&', '+', '@', '$', '*', '>', "'", '\x01', '\x02', '\x1e',
  '\x1f', '\x7f', '\t', '\0', ',', '|', ' ', '","', "','", '\r\n', '\n', '\ufeff', '\uffff', '\u{10ffff}', 'undefined',
];

/** Returns two keys with the same encoding in an adapter that writes the length modulo `size` before each field. */
const prefixed = (size: number, zero: string): readonly (readonly [string, string])[] => [
  ['p', `${'q'.repeat(size - 1)}${zero}`],
  [`p${zero}${'q'.repeat(size - 1)}`, ''],
];

/**
 * Different keys with two fields. If a store joined the fields with a separator, such as a colon, two of the keys would
 * become equal.
 */
const joinable: readonly (readonly [string, string])[] = [
  ...SEPARATORS.flatMap((separator) => [[`p${separator}q`, 'r'] as const, ['p', `q${separator}r`] as const]),
  ...prefixed(10, '0'),
  ...prefixed(256, '\0'),
  ...['a', 'b'].map((end) => ['z'.repeat(950), `${'z'.repeat(949)}${end}`] as const),
];

export const itemRows = Array.from({ length: 24 }, (_, i) => ({
  id: `i${String(i + 1).padStart(2, '0')}`,
  grade: 'cab'[i % 3],
  rank: [10, 9, -1, 2][(i * 7) % 4],
  label: `Item ${i + 1}`,
}));

export const readingRows = ['north', 'south', 'west'].flatMap((station, s) =>
  ['2024-01-30', '2024-01-31', '2024-02-01', '2024-02-02'].flatMap((day, d) =>
    [1, 2, 9, 10, 12].map((hour) => ({ station, day, hour, value: s * 100 + d * 10 + hour / 4 })),
  ),
);

const parts = ['', ' ', 'a', 'a ', 'a\0', 'a,', 'a|', 'aa', 'a","', '|a', ',a', '1', 'b'];
export const pairRows = [...parts.flatMap((left) => parts.map((right) => [left, right] as const)), ...joinable].map(
  ([left, right]) => ({ left, right, label: JSON.stringify([left.slice(-20), right.slice(-20)]) }),
);

// biome-ignore format: in rows
const names = [
  '', ' ', 'A', 'A ', 'a', 'aa', 'a\0', 'Z', 'b', '10', '9', '01001', '1001', '\u00e9', 'e\u0301', '\uffff', '𐀀', '😀',
  ...[60, 200, 800, 1900].flatMap((length) => ['b', 'a'].map((end) => `${'x'.repeat(length)}${end}`)),
];
// biome-ignore format: in rows
const sizes = [
  -(2 ** 31) - 1, -16_777_217, -16_777_216, -10, -9, -0.5, 0, 0.1 + 0.2, 0.3, 9, 10, 16_777_217, 16_777_216,
];
// Each name occurs with several sizes, and each size with several names.
export const spotRows = Array.from({ length: names.length * 4 }, (_, i) => ({
  id: [Number.MAX_SAFE_INTEGER, 2 ** 32 + 1, -(2 ** 31) - 5][i] ?? ((i * 29) % (names.length * 4)) - 20,
  name: names[Math.floor(i / 4)],
  size: sizes[(Math.floor(i / 2) * 5) % sizes.length],
}));

/** Names of collections that query languages reserve. */
export const RESERVED_NAMES = ['order', 'group', 'select', 'index', 'table', 'values', 'default', 'user'];

/** Names of fields that differ only in the last of 70 characters. */
export const LONG_NAMES = ['a', 'b'].map((end) => `long_name_${'x'.repeat(59)}${end}`) as [string, string];

// Each field sorts these rows differently.
export const columnRows = Array.from({ length: 23 }, (_, i) => ({
  order: i - 3,
  group: 'acb'[(i * 5) % 3],
  order_id: (i * 7) % 23,
  group_order: 'cab'[(i * 11) % 3],
  id: (i * 13) % 23,
  rowid: (i * 17) % 5,
  constructor: `c${(i * 19) % 23}`,
  doc: 'zyx'[(i * 2) % 3],
  version: `v${(i * 3) % 23}`,
  [LONG_NAMES[0]]: `a${(i * 9) % 23}`,
  [LONG_NAMES[1]]: (i * 10) % 23,
}));

/** 66 blocks of 1,000 rows have more than 65,536 rows, too many for a 16-bit counter. */
export const CROWD_BLOCKS = 66;
export const CROWD_SEATS = 1000;

/**
 * The first rows all belong to one block, which therefore contains more documents than fit into a batch. Only late rows
 * have a note, and the notes have several types.
 */
export const crowdRows = (): Document[] =>
  Array.from({ length: CROWD_BLOCKS * CROWD_SEATS }, (_, i) => ({
    block: Math.max(-3, Math.floor(i / CROWD_SEATS) - 5),
    seat: i < 3 * CROWD_SEATS ? i : i % CROWD_SEATS,
    score: (i * 7919) % 1000,
    name: `The guest in seat ${i}`,
    ...(i > 60_000 && i % 500 === 0 && { note: [i, String(i), null, [i], { i }, i % 1000 === 0][(i / 500) % 6] }),
  }));

const MIXED = [1, '01', true, null, [1], { a: '1' }, '2', 2.5, '', false, ['2'], 'null', 0, {}];

/** Documents in which a field has values of several types, in several orders. */
export const mixed: readonly Document[] = MIXED.map((_, i) => ({
  id: `mixed ${String(i).padStart(2, '0')}`,
  ...Object.fromEntries([0, 1, 2, 3, 4, 5].map((start) => [`from_${start}`, MIXED[(i + start) % MIXED.length]])),
}));

/** Documents with optional fields that a schema declares. An adapter can store these fields in table columns. */
export const typedRows: readonly Document[] = [
  { code: 'absent' },
  { code: 'nulls', flag: null, count: null, ratio: null, note: null, tags: null, extra: null },
  { code: 'empty', flag: false, count: 0, ratio: 0, note: '', tags: [], extra: {} },
  { code: 'some', flag: true, count: 1, ratio: 1, note: '1', tags: ['1'], extra: { a: null } },
  { code: 'digits', flag: true, count: -1, ratio: 0.1 + 0.2, note: '01001', tags: ['', ' '], extra: { flag: true } },
  { code: 'large', count: Number.MAX_SAFE_INTEGER, ratio: Number.MAX_VALUE, note: 'null', tags: ['a,b', 'c'] },
  { code: 'small', count: Number.MIN_SAFE_INTEGER, ratio: Number.MIN_VALUE, note: '[]', extra: { note: [] } },
  { code: 'long', count: 2 ** 31, ratio: 16_777_217, note: 'é'.repeat(65_536), tags: Array(300).fill('t') },
];

export const zeros: Document = { id: 'zeros', negative: -0, list: [-0, 0], object: { negative: -0 } };
