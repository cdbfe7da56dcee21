/** Documents that contain every character, special text in every place, and numbers of every size. */
import type { Collection, Document } from 'metro-forecast-api/adapter';
import { orNull } from './fixture.js';
import { prefixed } from './prefixes.js';
import { FORMATS, filled, numberOfBits, Random } from './random-values.js';
import { TOKENS } from './tokens.js';

export const letters: Collection = {
  name: 'letters',
  key: ['text', 'size'],
  orders: [
    ['size', 'text'],
    ['title', 'size', 'text'],
  ],
  search: ['title', 'note'],
  schema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      size: { type: 'number' },
      title: { type: 'string' },
      note: orNull('string'),
      ratio: { type: 'number' },
    },
    required: ['text', 'size', 'title'],
  },
};

/** Returns strings in which the token occurs alone, at the start, at the end, in the middle, or twice. */
const places = (token: string): readonly string[] => [
  token,
  `${token}ab`,
  `ab${token}`,
  `a${token}b`,
  `a${token}${token}b`,
  `${token}a${token}`,
];

const BLOCK = 0x800;
/** The first and last code points of all blocks up to U+FFFF, and of some blocks beyond. */
const BLOCKS: readonly (readonly [number, number])[] = [
  ...Array.from({ length: 0x10000 / BLOCK }, (_, i) => [i * BLOCK, (i + 1) * BLOCK - 1] as const),
  [0x10000, 0x103ff],
  [0x1d400, 0x1d7ff],
  [0x1f100, 0x1faff],
  [0x2f800, 0x2fa1f],
  [0xe0000, 0xe01ef],
  [0x10ff00, 0x10ffff],
];

const isSurrogate = (point: number): boolean => point >= 0xd800 && point <= 0xdfff;

const charactersFrom = ([first, last]: readonly [number, number]): readonly string[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i)
    .filter((point) => !isSurrogate(point))
    .map((point) => String.fromCodePoint(point));

/** Number of characters in each field name that `namesFrom` returns. */
const NAME = 64;
/** How many numbers each document contains. */
const NUMBERS = 12;

/**
 * Returns every power of 2 and of 10. For each power, also returns its negative, the power plus 1, and a slightly
 * smaller number.
 */
const powers = (): readonly number[] => {
  const found = [
    ...Array.from({ length: 2098 }, (_, i) => 2 ** (i - 1074)),
    ...Array.from({ length: 632 }, (_, i) => Number(`1e${i - 323}`)),
  ];
  const all = found.flatMap((power) => [power, -power, power + 1, power * (1 - Number.EPSILON)]);
  return [...new Set(all)].filter((number) => Number.isFinite(number) && number !== 0);
};

const documentOf = (random: Random, i: number, text: string, values: readonly string[]): Document => {
  const names = values.slice(0, 12).filter((name) => !name.includes('\0'));
  return {
    text,
    size: i % 3 === 0 ? i % 7 : numberOfBits(random),
    title: values[3 % values.length],
    ...(i % 4 > 0 && { note: i % 4 === 1 ? null : values.join('\n') }),
    ratio: numberOfBits(random),
    values: Object.fromEntries(names.map((name, n) => [name, values[(n + 1) % values.length]])),
    list: values.slice(0, 40),
    numbers: Array.from({ length: NUMBERS }, () => numberOfBits(random)),
    ...Object.fromEntries(names.slice(0, 4).map((name) => [`in ${name}`, name])),
  };
};

/** Returns an object whose field names contain every character of the block. */
const namesFrom = (block: readonly string[]): Document => {
  const names = Array.from({ length: Math.ceil(block.length / NAME) }, (_, i) => block.slice(i * NAME, (i + 1) * NAME));
  return Object.fromEntries(names.map((characters, i) => [characters.join('').replaceAll('\0', ''), i]));
};

const POWER_DOCUMENTS = 20;

const fieldsOf = (count: number): Document =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`field ${i}`, i % 3 ? i : String(i)]));

/** Returns documents in any order. Some have the same key. */
export const letterDocuments = (): readonly Document[] => {
  const random = new Random(11);
  const tokens = [...new Set([...TOKENS, ...FORMATS.map((format) => filled(random, format))])];
  const blocks = BLOCKS.map(charactersFrom).filter((block) => block.length > 0);
  const singles = [...charactersFrom([0, 0x24f]), ...charactersFrom([0x370, 0x3ff])];
  const numbers = powers();
  return [
    ...tokens.map((token, i) => documentOf(random, i, token, places(token))),
    ...blocks.map((block, i) => ({
      ...documentOf(random, i, `block ${i}`, block),
      all: block.join(''),
      names: namesFrom(block),
    })),
    ...prefixed.map((text, i) => ({ text, size: i % 2, title: prefixed[(i * 7) % prefixed.length] })),
    ...singles.map((each, i) => ({ text: each, size: i, title: each + each })),
    ...Array.from({ length: POWER_DOCUMENTS }, (_, part) => ({
      text: 'powers',
      size: part,
      title: String(part),
      numbers: numbers.filter((_, i) => i % POWER_DOCUMENTS === part),
    })),
    { text: 'many fields', size: 0, title: '', ...fieldsOf(300), object: fieldsOf(1500) },
    {
      text: 'many values',
      size: 0,
      title: '',
      // Integers with many digits make the document long, and take less time to parse than other numbers.
      list: Array.from({ length: 5200 }, (_, i) => 1e12 + i),
      lists: numbers.slice(0, 500).map((number) => [number]),
    },
  ];
};
