/** Faults that stores with columns, collations, pages and statements have: what a SQLite adapter gets wrong. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Scalar } from '../../../../core/contracts/storage.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { inSnapshot } from '../breakable.js';
import type { Dialect } from '../sqlite-adapter.js';
import { asking, type BrokenAdapter } from './breaking.js';

type Replacer = (this: Record<string, unknown>, name: string, value: unknown) => unknown;

/** Writes documents with some values changed. */
const writing = (change: (value: unknown) => unknown): Partial<Dialect> => ({
  text: (document: Document) => JSON.stringify(document, ((_, value) => change(value)) as Replacer),
});
const writingTexts = (change: (text: string) => unknown): Partial<Dialect> =>
  writing((value) => (typeof value === 'string' ? change(value) : value));

/** Keeps strings in columns as SQLite's own texts, rather than as bytes. */
const asText = (column: (field: string) => string): Partial<Dialect> => ({
  column,
  stored: (value) => value,
});
const storingNumbers = (change: (value: number) => Scalar): Partial<Dialect> => ({
  stored: (value) => {
    const changed = typeof value === 'number' ? change(value) : value;
    return typeof changed === 'string' ? Buffer.from(changed) : changed;
  },
});

const FIND = 'reading find(collection';
const MANY = 'reading from a large dataset a collection of 50,000 documents';

export const columnFaults: readonly BrokenAdapter[] = [
  {
    that: 'makes numbers of digits in its columns',
    sqlite: asText((field) => `"${field}" NUMERIC`),
    fails: [
      'reading get(collection, key) tells strings apart by their code points, with no collation and no normal form',
      `${FIND}, { equal }) on every string, with no collation, normal form, pattern or conversion`,
    ],
  },
  {
    that: 'writes text in its composed normal form',
    sqlite: writingTexts((text) => text.normalize('NFC')),
    fails: ['reading documents keeps text in the normal form that it is in'],
  },
  {
    that: 'cuts strings at 255 characters',
    sqlite: writingTexts((text) => text.slice(0, 255)),
    fails: ['reading documents keeps long texts, long arrays and many fields'],
  },
  {
    that: 'cuts strings at 65,535 bytes',
    sqlite: writingTexts((text) => (Buffer.byteLength(text) > 65_535 ? text.slice(0, 65_535) : text)),
    fails: ['reading documents keeps long texts, long arrays and many fields'],
  },
  {
    that: 'trims strings',
    sqlite: writingTexts((text) => text.trim()),
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
  },
  {
    that: 'writes 1 and 0 for booleans',
    sqlite: writing((value) => (typeof value === 'boolean' ? Number(value) : value)),
    fails: ['reading documents keeps booleans, which are not 0 and 1'],
  },
  {
    that: 'writes the empty string as null',
    sqlite: writing((value) => (value === '' ? null : value)),
    fails: ['reading documents keeps empty strings, arrays and objects'],
  },
  {
    that: 'writes no null within an object',
    sqlite: { text: (document) => JSON.stringify(document, ((_, value) => value ?? undefined) as Replacer) },
    fails: ['reading documents keeps nulls, which are not absent'],
  },
  {
    that: 'keeps numbers in 32 bits',
    sqlite: writing((value) => (typeof value === 'number' ? Math.fround(value) : value)),
    fails: ['reading documents keeps numbers to the last bit, wherever they stand'],
  },
  {
    that: 'reads JSON out of strings',
    sqlite: {
      document: (text) =>
        JSON.parse(text, (_, value) =>
          /^[[{].*[\]}]$/.test(String(value)) && typeof value === 'string' ? JSON.parse(value) : value,
        ),
    },
    fails: ['reading documents keeps strings that look like something else'],
  },
  {
    that: 'takes field names without regard to case',
    sqlite: {
      text: (document) => {
        const seen = new Set<string>();
        const first = Object.entries(document).filter(
          ([name]) => !seen.has(name.toLowerCase()) && seen.add(name.toLowerCase()),
        );
        return JSON.stringify(Object.fromEntries(first));
      },
    },
    fails: ['reading documents keeps field names that differ in case or normal form alone'],
  },
];

export const orderFaults: readonly BrokenAdapter[] = [
  {
    that: 'orders by a collation without regard to case',
    sqlite: asText((field) => `"${field}" COLLATE NOCASE`),
    fails: [`${FIND}, { order, descending }) orders strings by code point, not by UTF-16 unit or by language`],
  },
  {
    that: 'compares strings without what trails them',
    sqlite: asText((field) => `"${field}" COLLATE RTRIM`),
    fails: [
      'reading get(collection, key) tells strings apart by their code points, with no collation and no normal form',
    ],
  },
  {
    that: 'rounds what it orders by to 32 bits',
    sqlite: storingNumbers(Math.fround),
    fails: [`${FIND}, { order, descending }) orders by any string and number that is no key, in either place`],
  },
  {
    that: 'orders by whole numbers',
    sqlite: storingNumbers(Math.trunc),
    fails: [`${FIND}, { equal }) on every number, by value to the last bit`],
  },
  {
    that: 'orders numbers as text',
    sqlite: storingNumbers(String),
    fails: [`${FIND}, { order, descending }) orders numbers by value, not by their digits`],
  },
  {
    that: 'leaves ties to the row that was written first',
    sqlite: { orderBy: ([first], descending) => `"${first}"${descending ? ' DESC' : ''}, rowid DESC` },
    fails: [`${FIND}, { order, descending }) lets later fields of an order decide the ties of earlier ones`],
  },
  {
    that: 'turns only the last field of an order round',
    sqlite: {
      orderBy: (order, descending) =>
        order.map((field, i) => `"${field}"${descending && i === order.length - 1 ? ' DESC' : ''}`).join(', '),
    },
    fails: [`${FIND}, { order, descending }) descending is the exact reverse, ties included`],
  },
  {
    that: 'cuts what it orders by at 255 bytes',
    sqlite: { stored: (value) => (typeof value === 'string' ? Buffer.from(value).subarray(0, 255) : value) },
    fails: [
      'reading get(collection, key) tells strings apart by their code points, with no collation and no normal form',
    ],
  },
];

export const boundFaults: readonly BrokenAdapter[] = [
  {
    that: 'excludes its upper bound',
    sqlite: { to: (field) => `"${field}" < ?` },
    fails: [`${FIND}, { range }) includes both of its bounds, also where they are one`],
  },
  {
    that: 'excludes an upper bound that is a string',
    sqlite: { to: (field) => `("${field}", typeof("${field}") = 'blob') < (?, 1)` },
    fails: [`${FIND}, { range }) includes both of its bounds, also where they are one`],
  },
  {
    that: 'ignores a lower bound of 0 or of nothing',
    sqlite: {
      query: ({ range, ...query }) => {
        const { from, ...rest } = range ?? { field: '' };
        return { ...query, ...(range && { range: from ? range : rest }) };
      },
    },
    fails: [`${FIND}, { range }) takes 0, -0, a negative number and the empty string for bounds as any other`],
  },
  {
    that: 'ignores equality with 0 or with nothing',
    sqlite: {
      query: ({ equal = {}, ...query }) => ({
        ...query,
        equal: Object.fromEntries(Object.entries(equal).filter(([, value]) => value)),
      }),
    },
    fails: [`${FIND}, { equal }) on 0, -0, a negative number and the empty string, which are values as any other`],
  },
  {
    that: 'puts bounds that are upside down the right way up',
    sqlite: {
      query: (query) => {
        const { field = '', from, to } = query.range ?? {};
        if (from === undefined || to === undefined || compareScalars(from, to) <= 0) return query;
        return { ...query, range: { field, from: to, to: from } };
      },
    },
    fails: [`${FIND}, { range }) answers with nothing where the lower bound is above the upper`],
  },
  {
    that: 'compares by LIKE',
    sqlite: { ...asText((field) => `"${field}"`), equal: (field) => `"${field}" LIKE ?` },
    fails: [`${FIND}, { equal }) answers with nothing for a value that no document has`],
  },
  {
    that: 'bounds a later field by that of the first row alone',
    sqlite: {
      query: ({ range, ...query }) => {
        const isNext = range?.field === query.order[Object.keys(query.equal ?? {}).length];
        return {
          ...query,
          ...(range &&
            (isNext
              ? { range }
              : { range: { field: range.field, ...(range.from !== undefined && { from: range.from }) } })),
        };
      },
    },
    fails: [`${FIND}, { range }) bounds a later field, with nothing said of those before it`],
  },
];

export const pageFaults: readonly BrokenAdapter[] = [
  {
    that: 'applies the limit to each page',
    sqlite: { page: ({ limit = 1000 }) => Math.min(1000, limit) },
    fails: [`${MANY} is found up to the limit, which counts all batches together`],
  },
  {
    that: 'ignores a limit above the size of a page',
    sqlite: { query: ({ limit, ...query }) => ({ ...query, ...(limit !== undefined && limit <= 1000 && { limit }) }) },
    fails: [`${MANY} is found up to the limit, which counts all batches together`],
  },
  {
    that: 'has one too many where descending meets a range',
    sqlite: {
      query: (query) => (query.descending && query.range && query.limit ? { ...query, limit: query.limit + 1 } : query),
    },
    fails: [`${FIND}, { limit }) combines with every other part of a query`],
  },
  {
    that: 'leaves out the first row of each page but the first',
    sqlite: { offset: (_query, read) => (read > 0 ? read + 1 : 0) },
    fails: [`${MANY} is found whole, each document once and in order`],
  },
  {
    that: 'reads the last row of a page again where it descends',
    sqlite: { offset: ({ descending }, read) => (descending && read > 0 ? read - 1 : read) },
    fails: [`${MANY} is found whole by another order and descending`],
  },
  {
    that: 'takes a limit of one page for none',
    sqlite: { query: ({ limit, ...query }) => ({ ...query, ...(limit !== undefined && limit !== 1000 && { limit }) }) },
    fails: [`${MANY} is found up to the limit, which counts all batches together`],
  },
];

const AFTER = `${FIND}, { after })`;

export const placeFaults: readonly BrokenAdapter[] = [
  {
    that: 'begins with the document at the place',
    sqlite: {
      behind: (fields, descending) =>
        `(${fields.map((field) => `"${field}"`)}) ${descending ? '<=' : '>='} (${fields.map(() => '?')})`,
    },
    fails: [`${AFTER} goes on behind any document, without it, in either direction`],
  },
  {
    that: 'compares each field of a place by itself',
    sqlite: {
      behind: (fields, descending) => fields.map((field) => `"${field}" ${descending ? '<' : '>'} ?`).join(' AND '),
    },
    fails: [`${AFTER} lets later fields of an order decide behind a tie of earlier ones`],
  },
  {
    that: 'goes on behind the first field of a place alone',
    sqlite: {
      behind: ([first, ...others], descending) =>
        [`"${first}" ${descending ? '<' : '>'} ?`, ...others.map(() => '? IS NOT NULL')].join(' AND '),
    },
    fails: [`${AFTER} makes pages, one behind the other, which are the whole list`],
  },
  {
    that: 'goes on in ascending order always',
    sqlite: { behind: (fields) => `(${fields.map((field) => `"${field}"`)}) > (${fields.map(() => '?')})` },
    fails: [`${AFTER} goes on behind any document, without it, in either direction`],
  },
  {
    that: 'joins the fields of a place',
    sqlite: {
      behind: (fields, descending) =>
        `(${fields.map((field) => `"${field}"`).join(" || ',' || ")}) ${descending ? '<' : '>'} ` +
        `(${fields.map(() => '?').join(" || ',' || ")})`,
    },
    fails: [`${AFTER} compares the fields of a place one after the other, not joined`],
  },
  {
    that: 'goes on from the beginning where no document is at the place',
    fault: inSnapshot((snapshot) => ({
      async *find(collection, query, signal) {
        const { after, ...rest } = query;
        const free = query.order.slice(Object.keys(query.equal ?? {}).length);
        const whole: Document[] = [];
        for await (const batch of snapshot.find(collection, rest, signal)) whole.push(...batch);
        const isThere = whole.some((document) => free.every((field, i) => document[field] === after?.[i]));
        if (isThere || query.limit !== undefined) yield* snapshot.find(collection, query, signal);
        else yield whole;
      },
    })),
    fails: [`${AFTER} goes on behind a place that no document has`],
  },
  {
    that: 'ignores a place where there is a range',
    ...asking(({ after, ...query }) => ({ ...query, ...(after && !query.range && { after }) })),
    fails: [`${AFTER} meets a range on any field, on either side of its bounds`],
  },
  {
    that: 'ignores a place where there is equality',
    ...asking(({ after, ...query }) => ({ ...query, ...(after && !query.equal && { after }) })),
    fails: [`${AFTER} is a place among the further fields where there is equality`],
  },
  {
    that: 'counts the limit from before the place',
    fault: inSnapshot((snapshot) => ({
      async *find(collection, query, signal) {
        const { limit, ...behind } = query;
        const { after, ...first } = query;
        if (!after || limit === undefined) yield* snapshot.find(collection, query, signal);
        else {
          const counted = new Set<Document>();
          for await (const batch of snapshot.find(collection, first, signal)) for (const row of batch) counted.add(row);
          for await (const batch of snapshot.find(collection, behind, signal))
            yield batch.filter((row) => counted.has(row));
        }
      },
    })),
    fails: [`${AFTER} counts the limit from the place on`],
  },
  {
    that: 'takes 0 and the empty string in a place for none',
    ...asking(({ after, ...query }) => ({ ...query, ...(after?.[0] && { after }) })),
    fails: [`${AFTER} goes on behind any string and number`],
  },
];
