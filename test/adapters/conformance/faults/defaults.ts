/** Defines adapters that apply limits and conventions of their backend or framework to the data. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Query, TotalsQuery } from '../../../../core/contracts/storage.js';
import { wordsOf } from '../../../../core/data/words.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot } from '../breakable.js';
import { asking, type BrokenAdapter, getting, reading } from './breaking.js';
import { SEARCHING, searching, totalsOf } from './totals.js';

const REFERENCE = 'random reads return what the reference returns, alone and at the same time';
const MANY_FOUND = 'find(collection, query) with words finds any number of documents, for any number of words';
const EVERY_WORD =
  'find(collection, query) with words finds every word and every prefix, also at the end of a long text';
const EMPTY_PARTS =
  'reading find(collection, { range }) accepts a range without bounds, `equal` without fields, and `descending: false`';
const LARGE_TOTALS =
  'reading from a large dataset totals of many documents apply conditions to every document, and total every number';
const CONVENTIONS =
  'reading documents keeps documents and fields with names that frameworks convert, fill in, or use to hide and delete documents';
const MOST_FOUND = 10_000;
const MOST_VALUES = 65_535;

const searchingFor = (change: (query: Query) => Query) => ({
  capabilities: SEARCHING,
  fault: inSnapshot((snapshot) => {
    const whole = searching(snapshot);
    return { ...whole, find: (name, query, signal) => whole.find(name, query.words ? change(query) : query, signal) };
  }),
});

const totalling = (change: (query: TotalsQuery, name: string) => TotalsQuery) => ({
  capabilities: SEARCHING,
  fault: inSnapshot((snapshot) => ({
    ...searching(snapshot),
    totals: (name, query, signal) => totalsOf(snapshot, name, change(query, name), signal),
  })),
});

const isFolded = (word: string): boolean => /[łøæœ]/.test(word);

const without = (hidden: (name: string, value: unknown) => boolean) =>
  reading((document) => Object.fromEntries(Object.entries(document).filter(([name, value]) => !hidden(name, value))));

/** Hides documents for which `isHidden` returns true. */
const hiding = (isHidden: (document: Document) => boolean) =>
  ({
    fault: inSnapshot((snapshot) => ({
      async get(...given) {
        const found = await snapshot.get(...given);
        return found && !isHidden(found) ? found : undefined;
      },
      async *find(...given) {
        for await (const batch of snapshot.find(...given)) yield batch.filter((document) => !isHidden(document));
      },
    })),
  }) satisfies Partial<BrokenAdapter>;

export const defaultBugs: readonly BrokenAdapter[] = [
  {
    that: 'returns the first 10,000 documents of a search',
    ...searchingFor((query) => ({ ...query, limit: Math.min(query.limit ?? MOST_FOUND, MOST_FOUND) })),
    fails: [MANY_FOUND],
  },
  {
    that: 'searches for the first 32 words',
    ...searchingFor((query) => ({ ...query, words: query.words!.slice(0, 32) })),
    fails: [MANY_FOUND],
  },
  {
    that: 'finds words whose letters have a stroke or a ligature without it',
    capabilities: SEARCHING,
    fault: inSnapshot((snapshot) => {
      const whole = searching(snapshot);
      const isFound = (document: Document, word: string) =>
        ['town', 'note'].some((field) => wordsOf(String(document[field] ?? '')).includes(word));
      return {
        ...whole,
        async *find(name, query, signal) {
          for await (const batch of whole.find(name, query, signal)) {
            yield batch.filter((document) => !query.words?.some((word) => isFolded(word) && isFound(document, word)));
          }
        },
      };
    }),
    fails: [EVERY_WORD],
  },
  {
    that: 'counts the first 50,000 documents if there is a condition',
    capabilities: SEARCHING,
    fault: inSnapshot((snapshot) => ({
      ...searching(snapshot),
      async totals(name, query, signal) {
        const found = await totalsOf(snapshot, name, query, signal);
        if (query.where.length === 0 || query.by.length > 0) return found;
        return found.map((group) => ({ ...group, count: Math.min(group.count, 50_000) }));
      },
    })),
    fails: [LARGE_TOTALS],
  },
  {
    that: 'reads the limit of totals as 32 bits',
    ...totalling((query) => ({ ...query, limit: query.limit | 0 })),
    fails: ['totals(collection, query) returns at most limit groups'],
  },
  {
    that: 'sums fractions with 32 bits',
    capabilities: SEARCHING,
    fault: inSnapshot((snapshot) => ({
      ...searching(snapshot),
      async totals(name, query, signal) {
        const found = await totalsOf(snapshot, name, query, signal);
        if (query.of !== 'level' && query.of !== 'ratio') return found;
        return found.map(({ numbers, ...group }) => ({
          ...group,
          ...(numbers && { numbers: { ...numbers, sum: Math.fround(numbers.sum) } }),
        }));
      },
    })),
    fails: [REFERENCE],
  },
  {
    that: 'returns nothing for a range without bounds',
    ...asking((query) =>
      query.range && query.range.from === undefined && query.range.to === undefined ? { ...query, limit: 0 } : query,
    ),
    fails: [EMPTY_PARTS],
  },
  {
    that: 'reads in descending order if the query says so in any way',
    ...asking((query) => (query.descending === undefined ? query : { ...query, descending: true })),
    fails: [EMPTY_PARTS],
  },
  {
    that: 'returns nothing if no field is fixed by `equal`',
    ...asking((query) => (query.equal && Object.keys(query.equal).length === 0 ? { ...query, limit: 0 } : query)),
    fails: [EMPTY_PARTS],
  },
  {
    that: 'reads another table for a collection whose name is a keyword of SQL',
    fault: inSnapshot((snapshot) => ({
      find: (name, query, signal) => snapshot.find(name === 'order' ? 'group' : name, query, signal),
    })),
    fails: ['reading find(collection) reads collections whose names query languages reserve'],
  },
  {
    that: 'does not find one of 300 keys of a large collection',
    ...getting(async (snapshot, name, key, signal) =>
      name === 'crowd' && (Number(key[0]) * 1009 + Number(key[1]) * 7) % 300 === 5
        ? undefined
        : snapshot.get(name, key, signal),
    ),
    fails: [
      'reading from a large dataset a collection of 66,000 documents returns documents by their keys, also by keys that no document has',
    ],
  },
  {
    that: 'finds nothing in an undeclared collection of an earlier version',
    fault: (adapter, { collections }) => {
      let latest: string | undefined;
      return {
        snapshot() {
          const snapshot = adapter.snapshot();
          latest = snapshot.version;
          return {
            ...snapshot,
            get: async (name, key, signal) =>
              snapshot.version === latest || collections.has(name) ? snapshot.get(name, key, signal) : undefined,
          };
        },
      };
    },
    fails: ['snapshot() does not change after another version became current'],
  },
  {
    that: 'rejects totals in progress with unavailable when it is closed',
    fault: (adapter, context) => {
      let isClosed = false;
      return {
        async close() {
          isClosed = true;
          await adapter.close();
        },
        ...inSnapshot((snapshot) => ({
          async totals(...given) {
            const wasClosed = isClosed;
            await new Promise(setImmediate);
            if (isClosed && !wasClosed) throw new StorageError('unavailable', 'The connection has been closed.');
            return snapshot.totals!(...given);
          },
        }))(adapter, context),
      };
    },
    fails: ['close() lets reads in progress settle, with their whole result or with closed'],
  },
  {
    that: 'hides documents that are marked as deleted',
    ...hiding(({ deleted }) => deleted === true),
    fails: [CONVENTIONS],
  },
  {
    that: 'hides documents that have expired',
    ...hiding(({ expires_at: end }) => typeof end === 'string' && Date.parse(end) < Date.now()),
    fails: [CONVENTIONS],
  },
  {
    that: 'removes passwords and tokens',
    ...without((name) => name === 'password' || name === 'token'),
    fails: [CONVENTIONS],
  },
  {
    that: 'cuts lists after 65,535 values',
    ...reading((document) =>
      Object.fromEntries(
        Object.entries(document).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.slice(0, MOST_VALUES) : value,
        ]),
      ),
    ),
    fails: ['reading documents keeps long texts, long arrays and many fields'],
  },
  {
    that: 'cuts names of fields after 65,535 characters',
    ...reading((document) =>
      Object.fromEntries(Object.entries(document).map(([name, value]) => [name.slice(0, MOST_VALUES), value])),
    ),
    fails: ['reading documents keeps field names with dots, dollars, spaces and any letter'],
  },
];
