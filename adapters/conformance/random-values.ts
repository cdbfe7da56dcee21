/**
 * Makes random values that stores often confuse: similar strings, numbers near each other, and strings in many formats.
 */
import type { Document, Scalar } from 'metro-forecast-api/adapter';
import { ENDINGS, PREFIXES } from './prefixes.js';
import { absentNumbers, absentWords, numbers, words } from './tricky-values.js';

/** Returns the same sequence of choices for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  /** True in one of `times` calls. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  list<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }
}

const BASES = [
  'north',
  'Nord',
  'a',
  'ab',
  'e\u0301tat',
  'état',
  '10',
  '9',
  '2024',
  'x'.repeat(64),
  'y'.repeat(255),
  '日本',
];
const ENDS = ['', '', ' ', '\0', '\t', '.', '0', 'a', 'A', '\u0301', '\ufeff', '\uffff', '😀', '\n', '%', '_', '*'];

/** In these formats, each `9` is a digit, each `h` a hexadecimal digit, and each `a` a letter of any case. */
// biome-ignore format: in rows
export const FORMATS = [
  '1999-01-19', '0999-12-29', '9999-02-30', '19/09/1999', '1999-W19-1', '1999-099', '19990129', '09:19:59', 'P9DT9H',
  '2099-01-19T09:19:59Z', '2099-01-19T09:19:59+05:30', '1899-01-19T09:19:59.999-08:00', '2099-01-19 09:19:59', '2099-01-19T09:19:59.999999Z',
  'h'.repeat(24), 'h'.repeat(32), 'hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh', '{hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh}', '0xhhhh', '\\xhhhh', '#hhhhhh', 'X\'hhhh\'',
  '099', '+99', '-0', '9.', '.9', '9.90', '9e9', '9E+9', '9_999', '9,999', '9.999,99', '999999999999999999999', '0.10000000000000000999', '$9.99', '9%', '99n', '9f',
  'TRUE', 'False', 'yes', 'on', 'T', 'NULL', 'nil', 'none', 'undefined', '-Infinity', 'inf', 'nan', '(empty)', '~', '\\N', '#N/A',
  '999.099.9.09', '::1', 'hh:hh:hh:hh:hh:hh', 'aaa@Aaa.aaa', 'HTTP://Aaa.aaa:80/a/../a?b=%7E#', 'C:\\aaa\\..', './aaa//a/', 'a&amp;a', '<a>a</a>', '\'aa\'', '"aa"', 'a\'\'a',
  '{"b": 9.0, "a": 9}', '[9, 09]', '[ ]', '{ }', '9 , 9', 'a=9;a=9', '$(a)', '{{a}}', ':a', '?9', '@a', '$1', '--a', '/*a*/', '\\u0061', '\\n', 'aa\r\n', 'aa\r', '\u00a0aa\u2003', 'a\u00ada', '\u202eaa', '٣٤', 'ＡＢ９', 'ǅ', 'ẞ', 'ﬀ', 'ο\u03c2Σ',
];

export const filled = (random: Random, format: string): string =>
  format.replaceAll(/[9ha]/g, (kind) => {
    if (kind === '9') return String(random.below(10));
    return random.pick([...(kind === 'h' ? '0123456789abcdefABCDEF' : 'abcXYZ')]);
  });

/** Includes words of `tricky-values` and strings that differ from each other only in case, accents or their end. */
export const textFrom = (random: Random): string => {
  if (random.oneIn(3)) return random.pick(words);
  if (random.oneIn(3)) return filled(random, random.pick(FORMATS));
  if (random.oneIn(4)) return random.pick(PREFIXES) + random.pick(ENDINGS);
  return random.pick(BASES) + random.pick(ENDS);
};

const BITS = new DataView(new ArrayBuffer(8));

/** Returns the next double in the direction of `step`, 1 or -1. */
const nextDouble = (value: number, step: 1 | -1): number => {
  if (value === 0) return step * Number.MIN_VALUE;
  BITS.setFloat64(0, value);
  BITS.setBigInt64(0, BITS.getBigInt64(0) + BigInt(value > 0 ? step : -step));
  const next = BITS.getFloat64(0);
  return Number.isFinite(next) ? next : value;
};

export const similarTo = (random: Random, value: Scalar): Scalar => {
  if (typeof value === 'string') {
    return random.pick([
      `${value} `,
      [...value].slice(0, -1).join(''),
      value.toUpperCase(),
      value.normalize('NFD'),
      `${value}\0`,
    ]);
  }
  return random.pick([
    nextDouble(value, 1),
    nextDouble(value, -1),
    value + 1,
    -value,
    Math.fround(value),
    Math.trunc(value),
  ]);
};

/**
 * Returns a random finite double. Half of the numbers have random bits. The others are integers or have few decimals.
 */
export const numberOfBits = (random: Random): number => {
  if (random.oneIn(4)) return (random.below(2 ** 32) - 2 ** 31) / random.pick([1, 10, 100, 1000]);
  if (random.oneIn(3)) return random.below(2 ** 32) * 2 ** random.below(40);
  BITS.setUint32(0, random.below(2 ** 32));
  BITS.setUint32(4, random.below(2 ** 32));
  const found = BITS.getFloat64(0);
  return Number.isFinite(found) ? found + 0 : 0;
};

/** Never returns -0, which a store may return as 0. */
export const numberFrom = (random: Random): number => {
  if (random.oneIn(5)) return numberOfBits(random);
  const value = random.oneIn(2) ? random.pick(numbers) : random.pick([0, 1, -1, 0.5, 10, 100.25, 1e15 / 3]);
  const found = random.oneIn(3) ? (similarTo(random, value) as number) : value;
  return Number.isFinite(found) ? found + 0 : 0;
};

export const integerFrom = (random: Random): number => {
  const value = Math.trunc(numberFrom(random)) + 0;
  return Number.isSafeInteger(value) ? value : random.below(100);
};

/** Values that documents rarely contain. */
export const absentFrom = (random: Random, type: string): Scalar => {
  if (type === 'string') return random.pick(absentWords);
  const number = random.pick([0, -0, ...absentNumbers]);
  return type === 'integer' ? Math.trunc(number) : number;
};

export const jsonFrom = (random: Random, depth = 3): unknown => {
  const kind = random.below(depth > 0 ? 8 : 5);
  if (kind === 0) return null;
  if (kind === 1) return random.oneIn(2);
  if (kind === 2) return numberFrom(random);
  if (kind < 5) return textFrom(random);
  if (kind < 7) return random.list(4, () => jsonFrom(random, depth - 1));
  return objectFrom(random, depth - 1);
};

/** Names contain no NUL, because a store may reject a row with such a name. */
export const objectFrom = (random: Random, depth: number): Document =>
  Object.fromEntries(random.list(4, () => [textFrom(random).replaceAll('\0', '0'), jsonFrom(random, depth)]));

// biome-ignore format: in rows
const VOCABULARY = [
  'sea', 'seal', 'sealed', 'SEALS', 'the', 'of', 'a', 'is', 'not', 'and', 'or', 'near', '10', '2024', '3', '42nd', 'b2b', 'v10',
  'straße', 'strasse', 'İstanbul', 'naïve', 'nai\u0308ve', 'ﬁn', '日本', '日本語', '日本10', 'ключ', 'q'.repeat(70), 'running', 'run',
  // Some search engines expand a prefix only to a limited number of words. More words than that start with "sea".
  ...Array.from({ length: 60 }, (_, i) => `sea${i}`),
];
const BETWEEN = [
  ' ',
  ' ',
  '-',
  '_',
  '/',
  ', ',
  '\n',
  '\u00a0',
  "'",
  '.',
  '—',
  '\0',
  '+',
  '@',
  '’',
  '·',
  ':',
  '&',
  '\u00ad',
  '\u200b',
  '・',
];

/**
 * Returns random text for a search field. The text is sometimes long, because some search engines index only the start.
 */
export const sentenceFrom = (random: Random): string =>
  random.list(random.oneIn(60) ? 900 : 6, () => random.pick(VOCABULARY) + random.pick(BETWEEN)).join('');
