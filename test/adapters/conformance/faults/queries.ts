import type { Document } from '../../../../core/contracts/dataset.js';
import type { Query, Scalar } from '../../../../core/contracts/storage.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot } from '../breakable.js';
import { asking, type BrokenAdapter, finding, hasCode } from './breaking.js';

const natively = (a: unknown, b: unknown): number => (a === b ? 0 : (a as Scalar) < (b as Scalar) ? -1 : 1);

const wholeAscending = ({ equal, range, descending, after, limit }: Query): boolean =>
  !equal && !range && !descending && !after && limit === undefined;

export const queryFaults: readonly BrokenAdapter[] = [
  {
    that: 'orders strings by UTF-16 unit',
    ...finding((found, query) => {
      const [field, ...others] = query.order;
      if (others.length > 0 || !wholeAscending(query)) return found;
      return found.sort((a, b) => natively(a[field!], b[field!]));
    }),
    fails: [
      'reading find(collection, { order, descending }) orders strings by code point, not by UTF-16 unit or language',
    ],
  },
  {
    that: 'orders numbers by digits',
    ...finding((found, query) =>
      query.order[0] === 'value' && wholeAscending(query)
        ? found.sort((a, b) => natively(String(a['value']), String(b['value'])))
        : found,
    ),
    fails: ['reading find(collection, { order, descending }) orders numbers by value, not by digits'],
  },
  {
    that: 'orders only by the first field',
    ...finding((found, query) => {
      const [first, last] = [query.order[0]!, query.order.at(-1)!];
      if (first !== 'rank' || !wholeAscending(query)) return found;
      return found.sort((a, b) => natively(a[first], b[first]) || natively(b[last], a[last]));
    }),
    fails: ['reading find(collection, { order, descending }) orders by later fields when earlier ones are equal'],
  },
  {
    that: 'reverses only the first field of an order',
    ...finding((found, { order, descending, limit }) =>
      descending && limit === undefined ? found.reverse().sort((a, b) => natively(b[order[0]!], a[order[0]!])) : found,
    ),
    fails: [
      'reading find(collection, { order, descending }) descending is the exact reverse, ties included',
      'reading find(collection, query) combines equality, range, order and direction',
    ],
  },
  {
    that: 'bounds strings by UTF-16 unit',
    ...finding((found, { range }) =>
      found.filter((row) => range?.from === undefined || natively(row[range.field], range.from) >= 0),
    ),
    fails: ['reading find(collection, { range }) bounds strings by code point'],
  },
  {
    that: 'excludes the upper bound of a range',
    ...finding((found, { range }) => found.filter((row) => range?.to === undefined || row[range.field] !== range.to)),
    fails: ['reading find(collection, { range }) includes both bounds, even when they are equal'],
  },
  {
    that: 'throws if the lower bound is above the upper bound',
    ...asking((query) => {
      const { from, to } = query.range ?? {};
      if (from === undefined || to === undefined || compareScalars(from, to) <= 0) return query;
      throw new StorageError('invalid_query', 'The lower bound is above the upper bound.');
    }),
    fails: ['reading find(collection, { range }) returns nothing if the lower bound is above the upper bound'],
  },
  {
    that: 'bounds only the next field of an order',
    ...asking(({ range, ...query }) => {
      const next = query.order[Object.keys(query.equal ?? {}).length];
      return { ...query, ...(range?.field === next && range && { range }) };
    }),
    fails: [
      'reading find(collection, { range }) bounds a later field without equality on the earlier ones',
      'reading find(collection, query) combines equality, range, order and direction',
    ],
  },
  {
    that: 'matches strings by prefix',
    ...asking((query) => {
      const station = query.equal?.['station'];
      const whole = ['north', 'south', 'west'].find((one) => station !== '' && one.startsWith(String(station)));
      return whole === undefined ? query : { ...query, equal: { ...query.equal, station: whole } };
    }),
    fails: ['reading find(collection, { equal }) returns nothing for a value that no document has'],
  },
  {
    that: 'assigns the values of equality to fields by position',
    ...asking(({ equal, ...query }) => ({
      ...query,
      ...(equal && { equal: Object.fromEntries(Object.values(equal).map((value, i) => [query.order[i]!, value])) }),
    })),
    fails: ['reading find(collection, { equal }) on several leading fields, named in any order'],
  },
  {
    that: 'treats a limit of 0 as no limit',
    ...asking(({ limit, ...query }) => ({ ...query, ...(limit && { limit }) })),
    fails: ['reading find(collection, { limit }) returns nothing at 0'],
  },
  {
    that: 'ignores the limit',
    ...asking(({ limit, ...query }) => query),
    fails: [
      'reading find(collection, { limit }) returns nothing at 0',
      'reading find(collection, { limit }) returns the first documents of the order',
      'reading find(collection, { limit }) counts from the end when descending',
      'reading find(collection, { limit }) counts only documents that match equality and range',
    ],
  },
  {
    that: 'applies the limit before it reverses the order',
    fault: inSnapshot((snapshot) => ({
      async *find(collection, { descending = false, ...query }, signal) {
        if (query.limit === undefined) yield* snapshot.find(collection, { ...query, descending }, signal);
        else {
          const found: Document[] = [];
          for await (const batch of snapshot.find(collection, query, signal)) found.push(...batch);
          yield descending ? found.reverse() : found;
        }
      },
    })),
    fails: ['reading find(collection, { limit }) counts from the end when descending'],
  },
  {
    that: 'returns nothing for an unknown collection',
    fault: inSnapshot((snapshot) => ({
      async *find(...given) {
        try {
          yield* snapshot.find(...given);
        } catch (error) {
          if (!hasCode(error, 'unknown_collection')) throw error;
        }
      },
    })),
    fails: ['reading find(collection) rejects with unknown_collection for an undeclared collection'],
  },
  {
    that: 'stops after 20,000 documents',
    ...asking((query) => ({ ...query, limit: Math.min(query.limit ?? 20_000, 20_000) })),
    fails: ['reading from a large dataset a collection of 66,000 documents returns each document once and in order'],
  },
];
