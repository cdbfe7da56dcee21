/** Documents and queries for the tests of totals and words. */
import type { Collection, Condition, Document, Group, Query, Scalar, TotalsQuery } from 'metro-forecast-api/adapter';
import { orNull } from './fixture.js';
import { LIST_LENGTHS } from './random-queries.js';
import { searchedFor, totalsIn, wordsIn } from './reference.js';

export const notes: Collection = {
  name: 'notes',
  key: ['part', 'id'],
  orders: [
    ['level', 'part', 'id'],
    ['town', 'level', 'part', 'id'],
  ],
  search: ['town', 'note'],
  schema: {
    type: 'object',
    required: ['part', 'id', 'town', 'level'],
    properties: {
      part: { type: 'string' },
      id: { type: 'integer' },
      town: { type: 'string' },
      level: { type: 'number' },
      share: orNull('number'),
      checked: orNull('boolean'),
      note: orNull('string'),
      mass: { type: 'number' },
      price: { type: 'number' },
    },
  },
};

// biome-ignore format: in rows
const TOWNS = ['', '0', 'Brno', 'brno', 'Brno ', 'Brno, Old Town', 'Aviles', 'Avilés', 'Avile\u0301s', '\uffff', '𐀀 cart', 'a\0b', "it's", '10', '9'];
const LEVELS = [-16_777_217, -1, 0, 0.5, 2, 10, 2 ** 53, 0.1 + 0.2, 0.3, -0];
const SHARES = [1e9, 0.125, null, -1e9, 3, undefined, -0.25, 1];
/** Integers whose sum does not fit into 64 bits. */
const MASSES = [2 ** 62, 2 ** 62 + 2 ** 12, 2 ** 53 - 1, 7, 9_999_999_999_999];
const LONG_WORD = 'whale'.repeat(20);
const LONG_NOTE = `alpha ${'some more words '.repeat(3000)}omega`;
/** Words that some search engines fold differently from `wordsOf`. */
const LETTERS_NOTE = 'Łódź smørrebrød œuvre æon ΟΔΟΣ ЁЖ हिन्दी ไทย مُحَمَّد TIẾNG đà';
/** Text that search engines often clean or keep whole. */
const MARKUP_NOTE =
  '<a href="x.html">link</a> &amp; <!-- aside --> mail@example.org https://example.com/path?query=1#top';
const NOTES = [
  ...['red whale', null, 'Whales, RED', undefined, 'A whale_bone 42', '', 'straße ﬁsh', 'n\0o', 'null'],
  ...[`The end of a line, to be or not: ${LONG_WORD}s, 3.14`, `${LONG_WORD}t on`],
];

export const noteRows: readonly Document[] = Array.from({ length: 240 }, (_, i) => ({
  part: i < 100 ? 'a' : 'b',
  id: i,
  town: TOWNS[(i * 7) % TOWNS.length],
  level: LEVELS[(i * 3) % LEVELS.length],
  ...(SHARES[i % SHARES.length] !== undefined && { share: SHARES[i % SHARES.length] }),
  ...(i % 5 !== 0 && { checked: i % 4 === 0 ? null : i % 3 === 0 }),
  ...(i >= 7 && i <= 9
    ? { note: [LONG_NOTE, LETTERS_NOTE, MARKUP_NOTE][i - 7] }
    : NOTES[i % NOTES.length] !== undefined && { note: NOTES[i % NOTES.length] }),
  mass: MASSES[i % MASSES.length],
  // A sum without compensation would lose the small prices of each part, because its first price is much larger.
  price: i % 100 === 0 ? 1e16 : 0.99,
}));

export const CONDITIONS: readonly (readonly Condition[])[] = [
  [],
  [{ field: 'part', operator: 'eq', value: 'a' }],
  [{ field: 'level', operator: 'eq', value: 0.1 + 0.2 }],
  [{ field: 'town', operator: 'eq', value: 'Avilés' }],
  [{ field: 'note', operator: 'not', value: '' }],
  [{ field: 'share', operator: 'not', value: 3 }],
  [{ field: 'checked', operator: 'eq', value: false }],
  [{ field: 'checked', operator: 'not', value: true }],
  [{ field: 'town', operator: 'in', value: ['', 'brno', '𐀀 cart', 'nowhere'] }],
  [{ field: 'share', operator: 'in', value: [0.125, 3] }],
  [{ field: 'part', operator: 'in', value: ['b', 'a', 'b'] }],
  [{ field: 'town', operator: 'in', value: ['Brno'] }],
  [{ field: 'town', operator: 'eq', value: 'Brno' }],
  [{ field: 'level', operator: 'in', value: [] }],
  [{ field: 'note', operator: 'null', value: true }],
  [{ field: 'share', operator: 'null', value: false }],
  [{ field: 'town', operator: 'gt', value: '\uffff' }],
  [{ field: 'note', operator: 'lt', value: 'a' }],
  [{ field: 'note', operator: 'gte', value: '' }],
  [{ field: 'share', operator: 'gt', value: -0.25 }],
  [{ field: 'level', operator: 'lt', value: 0.5 }],
  [
    { field: 'level', operator: 'gte', value: 0 },
    { field: 'level', operator: 'lt', value: 10 },
  ],
  [
    { field: 'share', operator: 'lte', value: 1 },
    { field: 'part', operator: 'eq', value: 'b' },
  ],
  [
    { field: 'town', operator: 'not', value: 'Brno' },
    { field: 'town', operator: 'not', value: '' },
  ],
  [{ field: 'id', operator: 'gt', value: 1000 }],
  [{ field: 'town', operator: 'eq', value: '' }],
  [{ field: 'level', operator: 'eq', value: 0 }],
  [{ field: 'checked', operator: 'null', value: false }],
  [{ field: 'town', operator: 'lt', value: 'brno' }],
  [{ field: 'town', operator: 'lte', value: '\uffff' }],
  [{ field: 'town', operator: 'gte', value: 'brno' }],
  // More values than some stores allow as parameters of a statement.
  [{ field: 'id', operator: 'in', value: Array.from({ length: 2500 }, (_, i) => 2500 - i) }],
  [
    { field: 'part', operator: 'eq', value: 'b' },
    { field: 'town', operator: 'not', value: 'Brno' },
    { field: 'town', operator: 'gt', value: 'A' },
    { field: 'checked', operator: 'null', value: true },
  ],
];

const where = (field: string, operator: Condition['operator'], value: Condition['value']) => ({
  where: [{ field, operator, value } as Condition],
  by: ['part'],
});
const part = (query: Partial<TotalsQuery>) => ({ where: [], by: ['part'], ...query });

/** Pairs of queries that differ in one part, to catch caches whose keys do not contain that part. */
export const SIMILAR_QUERIES: readonly (readonly [Omit<TotalsQuery, 'limit'>, Omit<TotalsQuery, 'limit'>])[] = [
  [part({}), where('town', 'eq', 'Brno')],
  [where('town', 'eq', 'Brno'), where('town', 'not', 'Brno')],
  [where('town', 'eq', 'Brno'), where('town', 'eq', 'brno')],
  [where('town', 'eq', '0'), where('note', 'eq', '0')],
  [where('note', 'null', true), where('note', 'null', false)],
  [where('town', 'in', ['10', '9']), where('town', 'in', ['10,9'])],
  [where('level', 'gt', 0), where('level', 'gte', 0)],
  [part({}), part({ of: 'share' })],
  [part({ of: 'share' }), part({ of: 'level' })],
  [part({}), part({ by: [] })],
  [part({ by: ['part', 'level'] }), part({ by: ['level', 'part'] })],
  [part({ by: ['part', 'level'] }), part({ by: ['part'] })],
];

const distinct = (field: string) =>
  [...new Set(noteRows.map((document) => document[field]))].filter((value) => value !== undefined && value !== null);

/** Applies every operator to every value of every field, and to similar values. */
export const everyCondition = (): readonly Condition[] =>
  ['part', 'id', 'town', 'level', 'share', 'checked', 'note'].flatMap((field) => {
    const isText = ['part', 'town', 'note'].includes(field);
    const similar = field === 'checked' ? [] : isText ? ['null', '1', '09', 'BRNO', 'Brno  '] : [0, -2, 1e300, 1e-300];
    const found = distinct(field).slice(0, 20);
    return [
      ...[true, false].map((value) => ({ field, operator: 'null', value }) as const),
      ...[...found, ...similar].flatMap((given, i): Condition[] => {
        const value = given as Scalar;
        if (field === 'checked')
          return [
            { field, operator: 'eq', value },
            { field, operator: 'not', value },
          ];
        const lists = [[value], [value, found[(i + 1) % found.length] as Scalar]];
        return [
          ...(['eq', 'not', 'gt', 'gte', 'lt', 'lte'] as const).map((operator) => ({ field, operator, value })),
          ...lists.map((list): Condition => ({ field, operator: 'in', value: list })),
        ];
      }),
    ];
  });

/**
 * Returns lists of each length, for fields with strings and numbers. The first, the last and some other values of each
 * list occur in documents. Some values are repeated.
 */
export const longLists = (): readonly Condition[] =>
  LIST_LENGTHS.flatMap((length) =>
    (['id', 'town', 'share', 'level'] as const).map((field, at): Condition => {
      const found = distinct(field) as Scalar[];
      const absent = (i: number) => (field === 'town' ? `nowhere ${i}` : 1e6 + i + at);
      const isFound = (i: number) => i === 0 || i === length - 1 || i % 53 === 7;
      const value = Array.from({ length }, (_, i) =>
        isFound(i) ? found[(length + i * 3) % found.length]! : absent(i),
      );
      return { field, operator: 'in', value };
    }),
  );

/** Returns every word of the documents, and the start and the end of each word. */
export const everyWord = (): readonly (readonly string[])[] => {
  const all = [...new Set(noteRows.flatMap((document) => [...wordsIn(notes, document)]))];
  const parts = all.flatMap((word) => {
    const characters = [...word];
    const [start, inner, end] = [characters.slice(0, 2), characters.slice(0, -1), characters.slice(1)];
    return [word, `${word}*`, `${start.join('')}*`, inner.join(''), end.join('')];
  });
  const pairs = all.map((word, i) => [word, all[(i * 5 + 1) % all.length]!]);
  return [...[...new Set(parts)].filter((word) => word !== '').map((word) => [word]), ...pairs, all.slice(0, 3)];
};

export const WORDS: readonly (readonly string[])[] = [
  ['whale'],
  ['red', 'whale*'],
  ['brno'],
  ['aviles'],
  ['42', 'bone'],
  ['strasse'],
  ['straße', 'fish'],
  ['brno', 'whales'],
  ['𐀀'],
  ['o*', 'town'],
  ['nowhere'],
  // "hale" occurs only inside other words. An adapter might index missing values as "null" or "undefined".
  ...['hale*', 'null', 'undefined'].map((word) => [word]),
  // Words that search engines often ignore or shorten.
  ...['the', 'of', 'a', 'to', 'not', '3', 'or', `${LONG_WORD}s`, `${LONG_WORD}*`, 'end'].map((word) => [word]),
  ...['lodz', 'smorrebrod', 'oeuvre', 'aeon', 'οδοσ', 'еж', 'हनद', 'tieng', 'da'].map((word) => [word]),
  ['the', 'of', 'whale*'],
  // Only the last word matches no document. Some stores ignore words beyond a maximum number.
  ['the', 'end', 'of', 'a', 'nowhere'],
  ['the', 'end', 'of', 'a', 'line', 'to', 'be', 'or', 'not', '3', '14', `${LONG_WORD}s`, 'brno'],
  // A short word and a repeated word.
  ['red', 'n'],
  ['red', 'red', 'whale'],
  // A word and a prefix that matches more words.
  ['whale', 'whale*'],
  ['whale*', 'w*'],
];

/** A collection in which words occur in more documents than a search engine returns by default. */
export const seats: Collection = {
  name: 'seats',
  key: ['id'],
  orders: [['row', 'id']],
  search: ['text'],
  schema: {
    type: 'object',
    required: ['id', 'row', 'text'],
    properties: { id: { type: 'integer' }, row: { type: 'integer' }, text: { type: 'string' } },
  },
};

/** More words than some search engines accept in a query. */
const MANY_WORDS = Array.from({ length: 70 }, (_, i) => `word${i}`);

export const seatRows: readonly Document[] = Array.from({ length: 10_500 }, (_, id) => ({
  id,
  row: (id * 7919) % 100,
  text: `The guest ${id % 3 ? 'sits' : 'stands'} at number n${id}${id === 7000 ? ` ${MANY_WORDS.join(' ')}` : ''}`,
}));

export const SEAT_QUERIES: readonly (Partial<Query> & { readonly words: readonly string[] })[] = [
  { words: ['guest'] },
  { words: ['guest', 'n*'], descending: true },
  { words: ['n1*'], limit: 2000 },
  { words: ['sits'], after: [9000] },
  { words: MANY_WORDS },
  { words: [...MANY_WORDS, 'nowhere'] },
  { order: ['row', 'id'], words: ['stands', 'at'] },
  { order: ['row', 'id'], words: ['guest'], equal: { row: 99 }, descending: true },
];

export const foundBy = (query: Query): readonly Document[] => searchedFor(notes, noteRows, query);

export const groupsOf = (query: TotalsQuery): readonly Group[] => totalsIn(notes, noteRows, query);

/** Has the same keys as `notes`, and the texts of other documents. */
export const noteTwins: Collection = { ...notes, name: 'note_twins' };

export const noteTwinRows: readonly Document[] = noteRows.map(({ note: _, ...document }, i) => {
  const { town, note } = noteRows[(i + 50) % noteRows.length]!;
  return { ...document, town, ...(note !== undefined && { note }) };
});
