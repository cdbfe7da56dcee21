/** Random documents in two versions, for collections with many orders, optional fields and fields to search. */
import { type Collection, compareBy, type Document } from 'metro-forecast-api/adapter';
import { allRows, isWithin, orNull, type Rows } from './fixture.js';
import { letterDocuments, letters } from './letter-rows.js';
import { integerFrom, jsonFrom, numberFrom, objectFrom, Random, sentenceFrom, textFrom } from './random-values.js';

/** Each collection has more documents than most adapters put into a batch. */
const DOCUMENTS = 350;
/** Maximum size of a document's key and of its order fields, in bytes. */
const KEY_BYTES = 2000;

/** Fields of `wide` with the values that its keys, orders and sums need. */
const KEPT = ['area', 'code', 'part', 'kind', 'level', 'share', 'flag', 'rank'];

/** Names of collections differ only in the last of 70 characters. */
const LONG_NAME = `long_${'x'.repeat(64)}`;

export const wide: Collection = {
  name: `${LONG_NAME}a`,
  key: ['area', 'code', 'part'],
  orders: [
    ['code', 'area', 'part'],
    ['kind', 'level', 'area', 'code', 'part'],
    ['level', 'kind', 'part', 'code', 'area'],
    ['kind', 'part', 'code', 'area'],
    ['part', 'kind', 'area', 'level', 'code'],
  ],
  search: ['title', 'note'],
  schema: {
    type: 'object',
    properties: {
      // The properties are in a different order than the fields of the key.
      part: { type: 'integer' },
      level: { type: 'number' },
      kind: { type: 'string' },
      code: { type: 'number' },
      area: { type: 'string' },
      title: { type: 'string' },
      note: orNull('string'),
      share: orNull('number'),
      flag: orNull('boolean'),
      rank: orNull('integer'),
    },
    required: ['area', 'code', 'part', 'kind', 'level', 'title'],
  },
};

/** Has the same fields and orders as `wide`, but another key and other documents. */
export const wider: Collection = {
  ...wide,
  name: `${LONG_NAME}b`,
  key: ['part', 'code', 'area'],
  orders: [wide.key, ...wide.orders!],
};

/** A collection that is empty in the first version, and has one document in the second version. */
export const few: Collection = { ...wide, name: 'few' };

/** A collection that has more than 1,000 documents in the first version, and more than 10,000 in the second one. */
export const plenty: Collection = {
  name: 'plenty',
  key: ['team', 'day', 'number'],
  orders: [
    ['day', 'number', 'team'],
    ['score', 'team', 'day', 'number'],
    ['number', 'day', 'team'],
  ],
  schema: {
    type: 'object',
    properties: {
      team: { type: 'string' },
      day: { type: 'string' },
      number: { type: 'integer' },
      score: { type: 'number' },
      flag: orNull('boolean'),
      share: orNull('number'),
    },
    required: ['team', 'day', 'number', 'score'],
  },
};

const TEAMS = ['', 'a', 'B', 'b', '10', '9', '\uffff', '😀'];
const [SOME, PLENTY] = [1100, 10_300];

/** Each document has its own number. */
const plentyOf = (count: number): readonly Document[] =>
  Array.from({ length: count }, (_, i) => ({
    team: TEAMS[(i * 5) % TEAMS.length],
    day: new Date(Date.UTC(2024, 1, 1 + (i % 60))).toISOString().slice(0, 10),
    number: ((i * 7919) % count) - 50,
    score: ((i * 31) % 40) / 8 - 1,
    ...(i % 3 > 0 && { flag: [true, false, null][(i >> 4) % 3] }),
    ...(i % 5 > 0 && { share: i % 7 === 0 ? null : ((i * 13) % 1000) / 8 }),
  }));

const documentFrom = (random: Random): Document => {
  const optional = <T>(make: () => T) => (random.oneIn(4) ? undefined : random.oneIn(5) ? null : make());
  const values = {
    area: random.oneIn(4) ? random.pick(['a', 'b', 'B', '']) : textFrom(random),
    code: random.oneIn(2) ? random.below(5) / 2 : numberFrom(random),
    part: random.below(7) - 2,
    kind: random.oneIn(4) ? textFrom(random) : random.pick(['x', 'x ', 'X', 'y', '10', '9']),
    level: random.oneIn(2) ? random.pick([-1, 0, 0.5, 2]) : numberFrom(random),
    title: random.oneIn(3) ? textFrom(random) : sentenceFrom(random),
    note: optional(() => sentenceFrom(random)),
    share: optional(() => (random.below(8000) - 2000) / 8),
    flag: optional(() => random.oneIn(2)),
    rank: optional(() => integerFrom(random)),
    extra: optional(() => jsonFrom(random)),
  };
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return { ...(random.oneIn(3) && objectFrom(random, 1)), ...Object.fromEntries(present) };
};

/**
 * Returns a document of the same length that differs only at the end of its last field or of a random field, or the
 * same document. Does not change the fields in `kept`.
 */
const withLateEdit = (random: Random, document: Document, kept: readonly string[]): Document => {
  const names = Object.keys(document).filter((name) => !kept.includes(name));
  const name = random.oneIn(2) ? names.at(-1) : random.pick(names);
  const value = name === undefined ? undefined : document[name];
  if (typeof value === 'string') return { ...document, [name!]: value.replace(/[b-y0-8](?=[^b-y0-8]*$)/, nextLetter) };
  if (Array.isArray(value) && value.length > 1)
    return { ...document, [name!]: [...value.slice(0, -2), value.at(-1), value.at(-2)] };
  if (typeof value === 'boolean') return { ...document, [name!]: value ? null : value };
  return document;
};
const nextLetter = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) + 1);

/** Returns one document per key. Omits documents that exceed the limits of the adapter. */
const inKeyOrder = (collection: Collection, documents: readonly Document[]): readonly Document[] => {
  const byKey = new Map(documents.map((each) => [JSON.stringify(collection.key.map((field) => each[field])), each]));
  return [...byKey.values()]
    .filter((each) => isWithin(collection, each, KEY_BYTES))
    .toSorted(compareBy(collection.key));
};

/** The second version contains most documents of the first version, some of them with other values. */
export const randomVersions = (): readonly [Rows, Rows] => {
  const random = new Random(7);
  const firsts = Array.from({ length: DOCUMENTS }, () => documentFrom(random));
  const others = firsts.map((each) => (random.oneIn(3) ? documentFrom(random) : each));
  const laters = firsts
    .filter(() => !random.oneIn(9))
    .map((each) => (random.oneIn(4) ? withLateEdit(random, each, KEPT) : each))
    .map((each) => (random.oneIn(2) ? { ...documentFrom(random), area: each['area'], code: each['code'] } : each));
  const rowsOf = (
    some: readonly Document[],
    more: readonly Document[],
    texts: readonly Document[],
    [fewest, most]: readonly [number, number],
  ) => ({
    ...allRows(),
    [few.name]: inKeyOrder(few, some.slice(0, fewest)),
    [plenty.name]: inKeyOrder(plenty, plentyOf(most)),
    [letters.name]: texts,
    [wide.name]: inKeyOrder(wide, some),
    [wider.name]: inKeyOrder(wider, more),
  });
  const texts = inKeyOrder(letters, letterDocuments());
  const isLarge = ({ text }: Document) => text === 'many fields' || text === 'many values';
  const laterTexts = texts
    .filter((each) => isLarge(each) || !random.oneIn(4))
    .map((each) => withLateEdit(random, each, ['text', 'size', ...(isLarge(each) ? ['title'] : [])]));
  return [rowsOf(firsts, others.slice(0, 220), texts, [0, SOME]), rowsOf(laters, others, laterTexts, [1, PLENTY])];
};
