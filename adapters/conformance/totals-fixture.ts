/** Documents for the tests of totals and words, and a reference that computes the correct results. */
import {
  type Collection,
  type Condition,
  compareScalars,
  type Document,
  type Group,
  type Query,
  type Scalar,
  type TotalsQuery,
  wordsOf,
} from 'metro-forecast-api/adapter';
import { answerOf } from './reference.js';

const orNull = (type: string) => ({ type: [type, 'null'] });

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
  ...(i === 7 ? { note: LONG_NOTE } : NOTES[i % NOTES.length] !== undefined && { note: NOTES[i % NOTES.length] }),
  mass: MASSES[i % MASSES.length],
  // A sum without compensation would lose the small prices, because the first price is much larger.
  price: i === 0 ? 1e16 : 0.35,
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

/** Pairs of queries that differ in one part, to catch caches whose keys lack this part. */
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

/** Returns every word of the documents, and the start and the end of each word. */
export const everyWord = (): readonly (readonly string[])[] => {
  const all = [...new Set(noteRows.flatMap((document) => [...searched(document)]))];
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
  // Words that occur only inside other words, or in the text of missing values.
  ...['hale*', 'null', 'undefined'].map((word) => [word]),
  // Words that search engines often ignore or shorten.
  ...['the', 'of', 'a', 'to', 'not', '3', 'or', `${LONG_WORD}s`, `${LONG_WORD}*`, 'end'].map((word) => [word]),
  ['the', 'of', 'whale*'],
  // Only the last word matches no document, and some stores do not search for that many words.
  ['the', 'end', 'of', 'a', 'nowhere'],
  ['the', 'end', 'of', 'a', 'line', 'to', 'be', 'or', 'not', '3', '14', `${LONG_WORD}s`, 'brno'],
  // A short word and a repeated word.
  ['red', 'n'],
  ['red', 'red', 'whale'],
];

const meets = (document: Document, { field, operator, value }: Condition): boolean => {
  const found = (document[field] ?? null) as Scalar | boolean | null;
  if (operator === 'eq') return found === value;
  if (operator === 'not') return found !== value;
  if (operator === 'in') return (value as readonly unknown[]).includes(found);
  if (operator === 'null') return (found === null) === value;
  if (found === null) return false;
  const order = compareScalars(found as Scalar, value as Scalar);
  return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[operator];
};

const wordsIn = new WeakMap<Document, ReadonlySet<string>>();

const searched = (document: Document): ReadonlySet<string> => {
  const known = wordsIn.get(document);
  if (known) return known;
  wordsIn.set(document, new Set(notes.search!.flatMap((field) => wordsOf(String(document[field] ?? '')))));
  return searched(document);
};

const contains = (document: Document, words: readonly string[]): boolean => {
  const found = searched(document);
  return words.every((word) =>
    word.endsWith('*') ? [...found].some((each) => each.startsWith(word.slice(0, -1))) : found.has(word),
  );
};

export const foundBy = ({ words, ...query }: Query): readonly Document[] =>
  answerOf(
    noteRows.filter((document) => contains(document, words ?? [])),
    query,
  );

/** The factor that turns every number in the fixture into an integer. */
const SCALE = 2 ** 60;

/** Returns the exact sum, rounded once. */
const sumOf = (numbers: readonly number[]): number =>
  Number(numbers.reduce((sum, number) => sum + BigInt(number * SCALE), 0n)) / SCALE;

export const groupsOf = ({ where, words = [], by, of }: TotalsQuery): readonly Group[] => {
  const groups = new Map<string, Document[]>(by.length === 0 ? [['[]', []]] : []);
  for (const document of noteRows) {
    if (!where.every((condition) => meets(document, condition)) || !contains(document, words)) continue;
    const values = JSON.stringify(by.map((field) => document[field] ?? null));
    groups.set(values, [...(groups.get(values) ?? []), document]);
  }
  return inOrder(
    [...groups].map(([values, documents]) => {
      const numbers = documents.flatMap((document) => (of && typeof document[of] === 'number' ? [document[of]] : []));
      const totals = {
        count: numbers.length,
        sum: sumOf(numbers),
        min: Math.min(...numbers),
        max: Math.max(...numbers),
      };
      return { values: JSON.parse(values), count: documents.length, ...(numbers.length > 0 && { numbers: totals }) };
    }),
  );
};

export const inOrder = (groups: readonly Group[]): readonly Group[] =>
  groups
    .map(({ values, count, numbers }) => ({
      values: values.map((value) => (value === 0 ? 0 : value)),
      count,
      ...(numbers && { numbers: { count: numbers.count, sum: numbers.sum, min: numbers.min, max: numbers.max } }),
    }))
    .sort((one, other) => (JSON.stringify(one.values) < JSON.stringify(other.values) ? -1 : 1));
