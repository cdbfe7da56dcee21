/** Typical bugs in SQL adapters: in column types, collations, paging and prepared statements. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Scalar } from '../../../../core/contracts/storage.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { inSnapshot } from '../breakable.js';
import type { Dialect } from '../sqlite-adapter.js';
import { asking, type BrokenAdapter } from './breaking.js';

type Replacer = (this: Record<string, unknown>, name: string, value: unknown) => unknown;

const writing = (change: (value: unknown) => unknown): Partial<Dialect> => ({
  text: (document: Document) => JSON.stringify(document, ((_, value) => change(value)) as Replacer),
});
const writingTexts = (change: (text: string) => unknown): Partial<Dialect> =>
  writing((value) => (typeof value === 'string' ? change(value) : value));

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
const MANY = 'reading from a large dataset a collection of 66,000 documents';

export const columnFaults: readonly BrokenAdapter[] = [
  {
    that: 'converts strings of digits in its columns to numbers',
    sqlite: asText((field) => `"${field}" NUMERIC`),
    fails: [
      'reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns',
      `${FIND}, { equal }) on every string: no collation, no normal form, no patterns, no conversion`,
    ],
  },
  {
    that: 'normalizes text to composed form',
    sqlite: writingTexts((text) => text.normalize('NFC')),
    fails: ['reading documents keeps text in its normal form'],
  },
  {
    that: 'truncates strings to 255 characters',
    sqlite: writingTexts((text) => text.slice(0, 255)),
    fails: ['reading documents keeps long texts, long arrays and many fields'],
  },
  {
    that: 'truncates strings to 65,535 bytes',
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
    fails: ['reading documents keeps booleans, which are not 0 or 1'],
  },
  {
    that: 'writes the empty string as null',
    sqlite: writing((value) => (value === '' ? null : value)),
    fails: ['reading documents keeps empty strings, arrays and objects'],
  },
  {
    that: 'omits nulls in nested objects',
    sqlite: { text: (document) => JSON.stringify(document, ((_, value) => value ?? undefined) as Replacer) },
    fails: ['reading documents keeps null, which is not absent'],
  },
  {
    that: 'stores numbers in 32 bits',
    sqlite: writing((value) => (typeof value === 'number' ? Math.fround(value) : value)),
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
  },
  {
    that: 'parses strings that contain JSON',
    sqlite: {
      document: (text) =>
        JSON.parse(text, (_, value) =>
          /^[[{].*[\]}]$/.test(String(value)) && typeof value === 'string' ? JSON.parse(value) : value,
        ),
    },
    fails: ['reading documents keeps strings that look like other types'],
  },
  {
    that: 'ignores the case of field names',
    sqlite: {
      text: (document) => {
        const seen = new Set<string>();
        const first = Object.entries(document).filter(
          ([name]) => !seen.has(name.toLowerCase()) && seen.add(name.toLowerCase()),
        );
        return JSON.stringify(Object.fromEntries(first));
      },
    },
    fails: ['reading documents keeps field names that differ only in case or normal form'],
  },
];

export const orderFaults: readonly BrokenAdapter[] = [
  {
    that: 'orders by a collation that ignores case',
    sqlite: asText((field) => `"${field}" COLLATE NOCASE`),
    fails: [`${FIND}, { order, descending }) orders strings by code point, not by UTF-16 unit or language`],
  },
  {
    that: 'ignores trailing spaces when it compares strings',
    sqlite: asText((field) => `"${field}" COLLATE RTRIM`),
    fails: ['reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns'],
  },
  {
    that: 'rounds numbers in an order to 32 bits',
    sqlite: storingNumbers(Math.fround),
    fails: [`${FIND}, { order, descending }) orders by any string and number outside the key, in either position`],
  },
  {
    that: 'rounds numbers in an order to integers',
    sqlite: storingNumbers(Math.trunc),
    fails: [`${FIND}, { equal }) on every number, by value to the last bit`],
  },
  {
    that: 'orders numbers as text',
    sqlite: storingNumbers(String),
    fails: [`${FIND}, { order, descending }) orders numbers by value, not by digits`],
  },
  {
    that: 'orders equal values by insertion',
    sqlite: { orderBy: ([first], descending) => `"${first}"${descending ? ' DESC' : ''}, rowid DESC` },
    fails: [`${FIND}, { order, descending }) orders by later fields when earlier ones are equal`],
  },
  {
    that: 'reverses only the last field of an order',
    sqlite: {
      orderBy: (order, descending) =>
        order.map((field, i) => `"${field}"${descending && i === order.length - 1 ? ' DESC' : ''}`).join(', '),
    },
    fails: [`${FIND}, { order, descending }) descending is the exact reverse, ties included`],
  },
  {
    that: 'truncates order fields to 255 bytes',
    sqlite: { stored: (value) => (typeof value === 'string' ? Buffer.from(value).subarray(0, 255) : value) },
    fails: ['reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns'],
  },
];

export const boundFaults: readonly BrokenAdapter[] = [
  {
    that: 'excludes its upper bound',
    sqlite: { to: (field) => `"${field}" < ?` },
    fails: [`${FIND}, { range }) includes both bounds, even when they are equal`],
  },
  {
    that: 'excludes an upper bound that is a string',
    sqlite: { to: (field) => `("${field}", typeof("${field}") = 'blob') < (?, 1)` },
    fails: [`${FIND}, { range }) includes both bounds, even when they are equal`],
  },
  {
    that: 'ignores a lower bound of 0 or the empty string',
    sqlite: {
      query: ({ range, ...query }) => {
        const { from, ...rest } = range ?? { field: '' };
        return { ...query, ...(range && { range: from ? range : rest }) };
      },
    },
    fails: [`${FIND}, { range }) accepts 0, -0, a negative number and the empty string as bounds`],
  },
  {
    that: 'ignores equality with 0 or the empty string',
    sqlite: {
      query: ({ equal = {}, ...query }) => ({
        ...query,
        equal: Object.fromEntries(Object.entries(equal).filter(([, value]) => value)),
      }),
    },
    fails: [`${FIND}, { equal }) on 0, -0, a negative number and the empty string, which are ordinary values`],
  },
  {
    that: 'swaps a lower bound that is above the upper bound',
    sqlite: {
      query: (query) => {
        const { field = '', from, to } = query.range ?? {};
        if (from === undefined || to === undefined || compareScalars(from, to) <= 0) return query;
        return { ...query, range: { field, from: to, to: from } };
      },
    },
    fails: [`${FIND}, { range }) returns nothing if the lower bound is above the upper bound`],
  },
  {
    that: 'compares with LIKE',
    sqlite: { ...asText((field) => `"${field}"`), equal: (field) => `"${field}" LIKE ?` },
    fails: [`${FIND}, { equal }) returns nothing for a value that no document has`],
  },
  {
    that: 'checks a bound on a later field only in the first row',
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
    fails: [`${FIND}, { range }) bounds a later field without equality on the earlier ones`],
  },
];

export const pageFaults: readonly BrokenAdapter[] = [
  {
    that: 'ignores a limit above the size of a page',
    sqlite: { query: ({ limit, ...query }) => ({ ...query, ...(limit !== undefined && limit <= 1000 && { limit }) }) },
    fails: [`${MANY} returns documents up to the limit, which counts all batches together`],
  },
  {
    that: 'applies the limit to each page',
    sqlite: { page: ({ limit = 1000 }) => Math.min(1000, limit) },
    fails: [`${MANY} returns documents up to the limit, which counts all batches together`],
  },
  {
    that: 'returns one document too many for a descending range',
    sqlite: {
      query: (query) => (query.descending && query.range && query.limit ? { ...query, limit: query.limit + 1 } : query),
    },
    fails: [`${FIND}, { limit }) combines with every other part of a query`],
  },
  {
    that: 'omits the first row of each page after the first',
    sqlite: { offset: (_query, read) => (read > 0 ? read + 1 : 0) },
    fails: [`${MANY} returns each document once and in order`],
  },
  {
    that: 'returns the last row of a page twice when descending',
    sqlite: { offset: ({ descending }, read) => (descending && read > 0 ? read - 1 : read) },
    fails: [`${MANY} returns all documents by another order and descending`],
  },
  {
    that: 'treats a limit of one page as no limit',
    sqlite: { query: ({ limit, ...query }) => ({ ...query, ...(limit !== undefined && limit !== 1000 && { limit }) }) },
    fails: [`${MANY} returns documents up to the limit, which counts all batches together`],
  },
];

const AFTER = `${FIND}, { after })`;

export const placeFaults: readonly BrokenAdapter[] = [
  {
    that: 'compares each field of a position separately',
    sqlite: {
      behind: (fields, descending) => fields.map((field) => `"${field}" ${descending ? '<' : '>'} ?`).join(' AND '),
    },
    fails: [`${AFTER} compares later fields of an order when earlier ones are equal`],
  },
  {
    that: 'includes the document at the position',
    sqlite: {
      behind: (fields, descending) =>
        `(${fields.map((field) => `"${field}"`)}) ${descending ? '<=' : '>='} (${fields.map(() => '?')})`,
    },
    fails: [`${AFTER} continues after any document, in both directions`],
  },
  {
    that: 'compares only the first field of a position',
    sqlite: {
      behind: ([first, ...others], descending) =>
        [`"${first}" ${descending ? '<' : '>'} ?`, ...others.map(() => '? IS NOT NULL')].join(' AND '),
    },
    fails: [`${AFTER} returns pages that together form the whole list`],
  },
  {
    that: 'always continues in ascending order',
    sqlite: { behind: (fields) => `(${fields.map((field) => `"${field}"`)}) > (${fields.map(() => '?')})` },
    fails: [`${AFTER} continues after any document, in both directions`],
  },
  {
    that: 'joins the fields of a position',
    sqlite: {
      behind: (fields, descending) =>
        `(${fields.map((field) => `"${field}"`).join(" || ',' || ")}) ${descending ? '<' : '>'} ` +
        `(${fields.map(() => '?').join(" || ',' || ")})`,
    },
    fails: [`${AFTER} compares the fields of a position one by one, not joined`],
  },
  {
    that: 'starts again if no document is at the position',
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
    fails: [`${AFTER} continues after a position that no document has`],
  },
  {
    that: 'ignores a position together with a range',
    ...asking(({ after, ...query }) => ({ ...query, ...(after && !query.range && { after }) })),
    fails: [`${AFTER} combines with a range on any field, on either side of its bounds`],
  },
  {
    that: 'ignores a position together with equality',
    ...asking(({ after, ...query }) => ({ ...query, ...(after && !query.equal && { after }) })),
    fails: [`${AFTER} contains values only for the fields of the order that equal does not fix`],
  },
  {
    that: 'counts the limit from the start of the list',
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
    fails: [`${AFTER} counts the limit from the position`],
  },
  {
    that: 'ignores 0 and the empty string in a position',
    ...asking(({ after, ...query }) => ({ ...query, ...(after?.[0] && { after }) })),
    fails: [`${AFTER} continues after any string and number`],
  },
];
