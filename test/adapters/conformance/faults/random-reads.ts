/** Defines adapters whose bugs depend on the format of a value, or on earlier or concurrent reads. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Query, Scalar } from '../../../../core/contracts/storage.js';
import { compareBy, compareScalars } from '../../../../core/data/scalars.js';
import { wordsOf } from '../../../../core/data/words.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { type BrokenAdapter, finding, reading } from './breaking.js';
import { SEARCHING, searching } from './totals.js';

const PUBLISHED = 'random reads return every document of each version as it was published';
const REFERENCE = 'random reads return what the reference returns, alone and at the same time';
const SIZES = 'publish(dataset) accepts any number of documents, including the sizes of pages and batches';

const GROUPS = 'reading from a large dataset totals of many documents count every document, in any number of groups';
const BOUNDS =
  'reading from a large dataset a collection of 66,000 documents returns documents from a bound that equals the first or last document of a page';
const PAUSES =
  'reading from a large dataset a list whose caller pauses after the first batch is complete, also if others were read meanwhile';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TIME_WITH_OFFSET = /^\d{4}(-\d\d){2}T\d\d(:\d\d){2}[+-]\d\d:\d\d$/;
const OBJECT_ID = /^[0-9a-f]{24}$/i;
const LONG_ORDER = 4;

/** Changes the strings at the top level of each document, but not in nested values. */
const converting = (change: (text: string) => string) =>
  reading((document) =>
    Object.fromEntries(
      Object.entries(document).map(([name, value]) => [name, typeof value === 'string' ? change(value) : value]),
    ),
  );

const sorted = (found: readonly Document[], { order, descending }: Query): Document[] => {
  const rows = found.toSorted(compareBy(order.length > LONG_ORDER ? order.slice(0, LONG_ORDER - 1) : order));
  return descending ? rows.reverse() : rows;
};

/** Searchable fields of the collections in the random reads. */
const SEARCHED = ['title', 'note'];
const runsOf = (word: string): readonly string[] => word.match(/\p{L}+|\p{N}+/gu) ?? [];

/** Adds word search to the memory adapter. A document matches the words if `isMatch` returns true. */
const matching = (isMatch: (document: Document, words: readonly string[]) => boolean) => ({
  capabilities: SEARCHING,
  fault: inSnapshot((snapshot) => ({
    ...searching(snapshot),
    async *find(name, { words, limit, ...query }, signal) {
      if (!words) return yield* snapshot.find(name, { ...query, ...(limit !== undefined && { limit }) }, signal);
      const found: Document[] = [];
      for await (const batch of snapshot.find(name, query, signal)) found.push(...batch);
      yield found.filter((document) => isMatch(document, words)).slice(0, limit);
    },
  })),
});

export const randomBugs: readonly BrokenAdapter[] = [
  {
    that: 'converts UUIDs to lower case',
    ...converting((text) => (UUID.test(text) ? text.toLowerCase() : text)),
    fails: [PUBLISHED],
  },
  {
    that: 'converts times with an offset to UTC',
    ...converting((text) => (TIME_WITH_OFFSET.test(text) ? new Date(text).toISOString() : text)),
    fails: [PUBLISHED],
  },
  {
    that: 'converts strings of 24 hexadecimal digits to lower case',
    ...converting((text) => (OBJECT_ID.test(text) ? text.toLowerCase() : text)),
    fails: [PUBLISHED],
  },
  {
    that: 'sorts by the first three fields of a longer order',
    ...finding((found, query) => (query.order.length > LONG_ORDER ? sorted(found.reverse(), query) : found)),
    fails: [REFERENCE],
  },
  {
    that: 'does not find the last of 128 documents by its key',
    fault: inSnapshots(() => (snapshot) => ({
      async get(name, key, signal) {
        const found = await snapshot.get(name, key, signal);
        const counted = await snapshot.totals!(name, { where: [], by: [], limit: 1 });
        const isLast = found?.['id'] === '😀00127';
        return isLast && counted![0]!.count === 128 ? undefined : found;
      },
    })),
    fails: [SIZES],
  },
  {
    that: 'takes the fields of a key in the order of the schema',
    fault: (adapter, { collections }) => ({
      snapshot() {
        const snapshot = adapter.snapshot();
        return {
          ...snapshot,
          get(name, key, signal) {
            const { schema, key: fields } = collections.get(name)!;
            const names = Object.keys(schema['properties'] as object).filter((field) => fields.includes(field));
            const found = fields.map((field) => key[names.indexOf(field)]!);
            return snapshot.get(name, found, signal);
          },
        };
      },
    }),
    fails: [REFERENCE],
  },
  {
    that: 'splits words between letters and digits',
    ...matching((document, words) => {
      const found = new Set(SEARCHED.flatMap((field) => wordsOf(String(document[field] ?? '')).flatMap(runsOf)));
      return words.flatMap(runsOf).every((word) => found.has(word));
    }),
    fails: [REFERENCE],
  },
  {
    that: 'expands a prefix to the first 20 words',
    ...matching((document, words) => {
      const found = SEARCHED.flatMap((field) => wordsOf(String(document[field] ?? '')));
      const isStart = (start: string) => found.some((word) => word.startsWith(start) && !/^sea[2-5]\d$/.test(word));
      return words.every((word) => (word.endsWith('*') ? isStart(word.slice(0, -1)) : found.includes(word)));
    }),
    fails: [REFERENCE],
  },
  {
    that: 'returns at most 990 groups',
    fault: inSnapshot((snapshot) => ({
      totals: async (...given) => (await snapshot.totals!(...given))?.slice(0, 990),
    })),
    fails: [GROUPS],
  },
  {
    that: 'ends a list when 50 others were read meanwhile',
    fault: inSnapshots(() => {
      let lists = 0;
      return (snapshot) => ({
        async *find(...given) {
          const first = ++lists;
          for await (const batch of snapshot.find(...given)) {
            if (lists - first >= 50) return;
            yield batch;
          }
        },
      });
    }),
    fails: [PAUSES],
  },
  {
    that: 'ends the lists of a version when one of its snapshots is released',
    fault: inSnapshots(() => {
      let released = 0;
      return (snapshot) => ({
        async *find(...given) {
          const before = released;
          for await (const batch of snapshot.find(...given)) {
            if (released > before) return;
            yield batch;
          }
        },
        release() {
          released++;
          snapshot.release();
        },
      });
    }),
    fails: [PAUSES],
  },
  {
    that: 'misses the first document of a page if it equals the lower bound',
    ...finding((found, { range }) =>
      found.filter(
        ({ seat, block }) => !(block === -3 && seat === range?.from && Number(seat) % 128 === 0 && Number(seat) > 0),
      ),
    ),
    fails: [BOUNDS],
  },
  {
    that: 'applies the limit before a range on a later field if there are words',
    capabilities: SEARCHING,
    fault: inSnapshot((snapshot) => {
      const whole = searching(snapshot);
      return {
        ...whole,
        async *find(name, query, signal) {
          const { range, order, equal = {}, ...rest } = query;
          const isLater = range && range.field !== order[Object.keys(equal).length];
          if (!query.words || !isLater) return yield* whole.find(name, query, signal);
          const { field, from, to } = range;
          const isWithin = (value: Scalar) =>
            (from === undefined || compareScalars(value, from) >= 0) &&
            (to === undefined || compareScalars(value, to) <= 0);
          for await (const batch of whole.find(name, { order, equal, ...rest }, signal)) {
            yield batch.filter((document) => isWithin(document[field] as Scalar));
          }
        },
      };
    }),
    fails: ['find(collection, query) with words yields the documents that contain all words, in order'],
  },
];
