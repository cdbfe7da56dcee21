import type { Document } from 'metro-forecast-api/adapter';
import { joinable } from './tricky-values.js';

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
];
// biome-ignore format: in rows
const sizes = [
  -(2 ** 31) - 1, -16_777_217, -16_777_216, -10, -9, -0.5, 0, 0.1 + 0.2, 0.3, 9, 10, 16_777_217, 16_777_216,
];
// Each name is used in four consecutive rows. The size changes every two rows, so that each name occurs with several
// sizes and each size with several names.
export const spotRows = Array.from({ length: names.length * 4 }, (_, i) => ({
  id: [Number.MAX_SAFE_INTEGER, 2 ** 32 + 1, -(2 ** 31) - 5][i] ?? ((i * 29) % (names.length * 4)) - 20,
  name: names[Math.floor(i / 4)],
  size: sizes[(Math.floor(i / 2) * 5) % sizes.length],
}));

/** Enough blocks for more than 65,536 rows in total. */
export const CROWD_BLOCKS = 66;
export const CROWD_SEATS = 1000;

/** The first rows all belong to one block, so that this block contains more documents than fit into a batch. */
export const crowdRows = (): Document[] =>
  Array.from({ length: CROWD_BLOCKS * CROWD_SEATS }, (_, i) => ({
    block: Math.max(-3, Math.floor(i / CROWD_SEATS) - 5),
    seat: i < 3 * CROWD_SEATS ? i : i % CROWD_SEATS,
    score: (i * 7919) % 1000,
    name: `The guest in seat ${i}`,
  }));
