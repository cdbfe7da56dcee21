/** Values that stores often handle incorrectly: strings, numbers, and documents of every shape that JSON allows. */
import type { Document } from 'metro-forecast-api/adapter';
import { conventional } from './conventions.js';

const byCodePoint = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Strings with this prefix differ only after 255 bytes, where some stores truncate index entries. */
const PREFIX = 'x'.repeat(300);
const LONG = 'y'.repeat(1500);
/** Strings with this prefix have 1,900 bytes and differ only in the last byte. */
const LONGEST = 'z'.repeat(1899);

/** Keys that some stores treat as equal, convert, or sort incorrectly. The list is sorted by code point. */
// biome-ignore format: similar values share a line
export const words: readonly string[] = [
  '',
  // Strings that some stores trim or truncate, or treat as empty.
  ' ', '  ', '\t', '\n', '\r\n', '\0', 'A\0', 'A\0B', 'A', 'A ', ' A', 'AB', '\ufeffA', 'a\u200bb',
  // Strings that some stores convert to numbers. Some of the numbers are equal.
  '-1', '0', '00', '01001', '1', '1.0', '1001', '10', '9', '1e3', '1000', '0x10', 'Infinity', 'NaN', 'null', 'true',
  '2024-01-31', '2024-01-31T00:00:00Z',
  '$gt', '%', '_', '*', '.*', '[a]', '.', '..', '../a', 'a/b', 'a%2Fb', 'a\\b', 'a.b', 'a,b', 'a:b', 'a|b', "'", "''", '"', '`',
  '{"a":1}', '["a"]', 'constructor', '__proto__',
  // Strings that some collations treat as equal, because they ignore case, accents, width, ligatures or normal forms.
  'B', 'Z', 'a', 'b', 'e\u0301', '\u00e9', 'ä', 'ß', 'ss!', 'I', 'i', 'İ', 'ı', 'ﬁ', 'Ａ', '\u212b', '\u00c5',
  // Characters before and after the surrogates, where UTF-16 units and code points sort differently.
  '\ud7ff', '\ue000', '\uffee', '\uffff', '𐀀', '👩', '👩‍💻', '😀', '\u{10ffff}', PREFIX, `${PREFIX}a`, `${PREFIX}b`,
  `${LONG}a`, `${LONG}b`, `${LONGEST}a`, `${LONGEST}b`,
  // Pairs of different strings with the same hash, for four common hash functions (such as CRC-32).
  'Aa', 'BB', 'Bb', 'CA', 'plumless', 'buckeroo', 'costarring', 'liquid',
  // Control characters that some stores remove or use as separators.
  '\x01', '\x1f', 'a\x1fb', '\x7f', '\x85', 'a\u2028b',
].sort(byCodePoint);

/** Strings that are similar to the strings in `words`, but not in that list. */
// biome-ignore format: similar values share a line
export const absentWords: readonly string[] = [
  'y'.repeat(2500), 'w'.repeat(20_000), '\0\0', '   ', '\u00a0', '001', '1.00', '+1', '1E3', '1000.0', '2024-01-31T00:00:00.000Z', 'z', 'E\u0301',
  'a\u0308', 'ss', 'fi', 'ab', 'Ａ ', 'A\u030a', '\ud83d\ude01', `${PREFIX}c`, PREFIX.slice(1), 'toString', 'valueOf', 'word', '%41', 'a%2fb', 'a/../a/b',
];

/** Sorted numbers from the whole range of a double. In a narrower type, many of these numbers are equal. */
// biome-ignore format: in rows
export const numbers: readonly number[] = [
  -Number.MAX_VALUE, -1e21, Number.MIN_SAFE_INTEGER, -(2 ** 53) + 2, -(2 ** 32) - 1, -(2 ** 31) - 1, -(2 ** 31),
  -16_777_217, -16_777_216, -10, -9.5, -9, -1, -0.1, -Number.MIN_VALUE, 0, Number.MIN_VALUE, Number.EPSILON, 0.1, 0.3,
  0.1 + 0.2, 1 / 3, 1, 1 + Number.EPSILON, 1.1, 2, 9, 10, 100, 16_777_216, 16_777_217, 2 ** 31 - 1, 2 ** 31,
  2 ** 32 - 1, 2 ** 32, 2 ** 32 + 0.5, 2 ** 53 - 2, Number.MAX_SAFE_INTEGER, 2 ** 53, 2 ** 53 + 2, 2 ** 63, 2 ** 64,
  1e21, 123_456_789_012_345_680_000, Number.MAX_VALUE,
].sort((a, b) => a - b);

// biome-ignore format: in rows
export const absentNumbers: readonly number[] = [
  0.2 + 0.4, 2 ** 32 + 1, 1 - Number.EPSILON, -16_777_218, 16_777_218, -(2 ** 53), 2 ** 53 + 4, 1.5,
];

const nested = (depth: number): unknown =>
  depth === 0 ? 'core' : depth % 2 ? [nested(depth - 1)] : { d: nested(depth - 1) };

/** A document, and the rule that an adapter breaks if it changes the document. */
export interface Shape {
  readonly rule: string;
  readonly document: Document;
}

export const shapes: readonly Shape[] = [
  { rule: 'adds no field, such as `_id` or a null for an absent one', document: { id: 'absent' } },
  {
    rule: 'keeps booleans, which are not 0 or 1',
    document: { id: 'booleans', yes: true, no: false, list: [true, false, 1, 0], object: { no: false } },
  },
  {
    rule: 'keeps empty strings, arrays and objects',
    document: { id: 'empty', text: '', list: [], object: {}, deep: [[], [{}], [[null]], ['']] },
  },
  {
    rule: 'keeps field names with dots, dollars, spaces and any letter',
    document: {
      id: 'names',
      'a.b': 1,
      a: { b: 2, 'c.d': 3 },
      $set: { $gt: 4 },
      'with space': 5,
      ключ: 6,
      '😀': 7,
      '': 8,
      '0': 9,
      'a"b\'c`d': 10,
      ['x'.repeat(300)]: 11,
      ['x'.repeat(66_000)]: 12,
    },
  },
  {
    rule: 'keeps field names with percent signs and control characters',
    document: {
      id: 'control names',
      '%': 1,
      '%41': 2,
      A: 3,
      a: 6,
      '\x01': 7,
      'a\x1f': 8,
      'a\x7f': 9,
      'a\tb': 10,
      'a\n': 11,
      'a\u2028': 12,
      '\ufeffa': 13,
      ' a': 14,
      'a ': 15,
      $: 16,
      'a.': 17,
      '.a': 18,
      object: { a: { '%41': 1, '\x1f': 2 }, '': { '': 3, ' ': 4 } },
      ['y'.repeat(70)]: 19,
    },
  },
  {
    rule: 'keeps field names that differ only in case or normal form',
    document: { id: 'similar names', name: 1, Name: 2, NAME: 3, ID: 4, '\u00e9': 5, 'e\u0301': 6, 'name ': 7 },
  },
  {
    rule: 'keeps field names that stores and programming languages reserve',
    document: {
      id: 'reserved names',
      _id: 1,
      _rev: 2,
      _version: 3,
      version: 4,
      rowid: 5,
      key: 6,
      value: 7,
      length: 0,
      toJSON: 'x',
      __v: 5,
      object: {
        _id: { $oid: '1' },
        length: 3,
        toJSON: null,
        date: { $date: 0 },
        long: { $numberLong: '1' },
        type: { '#text': 'x', '@id': 1 },
      },
    },
  },
  {
    rule: 'keeps documents and fields with names that frameworks convert, fill in, or use to hide and delete documents',
    document: conventional,
  },
  {
    rule: 'keeps nested values, and the order of arrays',
    document: {
      id: 'nested',
      list: [1, 'two', { three: [3, { four: 4 }] }, null],
      object: { x: { y: { z: [] } } },
      repeated: [3, 1, 2, 1, 3, '1', [1], [1]],
      different: [{ a: 1 }, { b: 2 }, { a: null }, {}, { b: '2', c: [{}] }],
      deep: nested(39),
    },
  },
  {
    rule: 'keeps null, which is not absent',
    document: { id: 'nulls', nothing: null, object: { nothing: null }, list: [null, null], all: { a: null, b: null } },
  },
  {
    rule: 'keeps fields with the names of members of Object.prototype, and does not change the prototype',
    document: {
      id: 'prototype',
      ['__proto__']: 'a field of the document',
      constructor: 1,
      hasOwnProperty: 2,
      toString: 'x',
      valueOf: null,
      // Without brackets, `__proto__` would set the prototype.
      nested: { ['__proto__']: { polluted: 'yes' }, constructor: 'x', toString: 1, hasOwnProperty: null },
      values: ['__proto__', 'constructor', 'prototype'],
    },
  },
  {
    rule: 'keeps text with quotes, line ends, NUL and emoji',
    document: {
      id: 'text',
      quotes: '"\'`\\"\\\\ \'\' ""',
      lines: 'a\r\nb\u2028c\rd\n',
      markup: '<&>&amp;&#65;',
      nul: 'a\0b',
      controls: '\x01\x02\x07\b\x0b\f\x0e\x1f\x7f\x80\x85\x9f',
      emoji: '👩‍💻',
      percent: '%41%20+%',
      escapes: '\\u0041 \\x41 \\0 \\n',
      spaces: '  \t a  ',
      mark: '\ufeffa',
      edges: '\ud7ff\ue000\uffff\u{10000}\u{10ffff}',
    },
  },
  {
    rule: 'keeps text in its normal form',
    document: {
      id: 'normal forms',
      composed: '\u00e9 \u00c5 \uac00',
      decomposed: 'e\u0301 A\u030a \u1100\u1161',
      compatible: 'ﬁ ² Ａ \u212b',
      list: ['e\u0301', { 'e\u0301': '\u00e9' }],
    },
  },
  {
    rule: 'keeps strings that look like other types',
    document: {
      id: 'types',
      digits: '123',
      zeros: '01001',
      decimals: '1.10',
      exponent: '1e3',
      hexadecimal: '0x10',
      truth: 'true',
      nothing: 'null',
      undefined: 'undefined',
      upper: 'NULL',
      marker: '\\N',
      none: 'None',
      missing: 'N/A',
      infinite: 'Infinity',
      date: '2024-02-30',
      time: '2024-01-01T00:00:00Z',
      offset: '2024-01-01T00:00:00.000+02:00',
      oid: '0123456789abcdef01234567',
      object: '{"a":1}',
      array: '[1]',
      quoted: '"a"',
      list: ['1', '01', 'true', 'null', '2024-01-01T00:00:00Z'],
    },
  },
  {
    rule: 'keeps falsy values: 0, the empty string, false and null',
    document: {
      id: 'falsy',
      zero: 0,
      text: '',
      no: false,
      nothing: null,
      list: [0, '', false, null, { zero: 0 }],
    },
  },
  {
    rule: 'keeps numbers to the last bit, at any depth',
    document: {
      id: 'numbers',
      list: numbers,
      object: Object.fromEntries(numbers.map((value, i) => [`n${i}`, value])),
      // Some stores derive the type of a list from its values.
      bytes: [0, 127, 128, 255, 256, 65_536],
      integers: [0, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    },
  },
  {
    rule: 'keeps objects that programming languages use for values of other types',
    document: {
      id: 'typed',
      buffer: { type: 'Buffer', data: [1, 2] },
      map: [{ dataType: 'Map', value: [['a', 1]] }, [['a', 1]]],
      numbers: { '0': { '0': 'a', '1': 'b' }, '1': 'b', length: 2 },
    },
  },
  {
    rule: 'keeps 3,000 fields',
    document: { id: 'wide', ...Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`field_${i}`, i % 7])) },
  },
  {
    rule: 'keeps long texts, long arrays and many fields',
    document: {
      id: 'long',
      text: 'é'.repeat(65_536),
      similar: ['a', 'b'].map((middle) => `${'m'.repeat(20_000)}${middle}${'m'.repeat(20_000)}`),
      // Common maximum lengths of columns, pages and packets, with one-byte and four-byte characters.
      texts: [254, 255, 256, 1023, 1025, 4001, 8001, 32_768, 65_534, 65_535, 65_536, 70_001].map(
        (length) => `${'x'.repeat(length - 1)}|`,
      ),
      emoji: ['a', 'ab', 'abc', 'abcd'].map((start) => `${start}${'😀'.repeat(16_500)}`),
      lines: 'a\n'.repeat(3000),
      list: Array.from({ length: 70_000 }, (_, i) => i % 7),
      fields: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`field_${i}`, i])),
    },
  },
];
