/** Faults of finding many documents. */
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Query, Scalar } from '../../../../core/contracts/storage.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot } from '../breakable.js';
import { asking, type BrokenAdapter, finding, hasCode } from './breaking.js';

/** JavaScript's own order. */
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
      'reading find(collection, { order, descending }) orders strings by code point, not by UTF-16 unit or by language',
    ],
  },
  {
    that: 'orders numbers by their digits',
    ...finding((found, query) =>
      query.order[0] === 'value' && wholeAscending(query)
        ? found.sort((a, b) => natively(String(a['value']), String(b['value'])))
        : found,
    ),
    fails: ['reading find(collection, { order, descending }) orders numbers by value, not by their digits'],
  },
  {
    that: 'orders by the first field alone',
    ...finding((found, query) => {
      const [first, last] = [query.order[0]!, query.order.at(-1)!];
      if (first !== 'rank' || !wholeAscending(query)) return found;
      return found.sort((a, b) => natively(a[first], b[first]) || natively(b[last], a[last]));
    }),
    fails: [
      'reading find(collection, { order, descending }) lets later fields of an order decide the ties of earlier ones',
    ],
  },
  {
    that: 'turns only the first field of an order round',
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
    that: 'leaves out the upper bound of a range',
    ...finding((found, { range }) => found.filter((row) => range?.to === undefined || row[range.field] !== range.to)),
    fails: ['reading find(collection, { range }) includes both of its bounds, also where they are one'],
  },
  {
    that: 'throws where a range is upside down',
    ...asking((query) => {
      const { from, to } = query.range ?? {};
      if (from === undefined || to === undefined || compareScalars(from, to) <= 0) return query;
      throw new StorageError('invalid_query', 'The range is upside down.');
    }),
    fails: ['reading find(collection, { range }) answers with nothing where the lower bound is above the upper'],
  },
  {
    that: 'bounds only the next field of an order',
    ...asking(({ range, ...query }) => {
      const next = query.order[Object.keys(query.equal ?? {}).length];
      return { ...query, ...(range?.field === next && range && { range }) };
    }),
    fails: [
      'reading find(collection, { range }) bounds a later field, with nothing said of those before it',
      'reading find(collection, query) combines equality, range, order and direction',
    ],
  },
  {
    that: 'finds by the beginning of a string',
    ...asking((query) => {
      const station = query.equal?.['station'];
      const whole = ['north', 'south', 'west'].find((one) => station !== '' && one.startsWith(String(station)));
      return whole === undefined ? query : { ...query, equal: { ...query.equal, station: whole } };
    }),
    fails: ['reading find(collection, { equal }) answers with nothing for a value that no document has'],
  },
  {
    that: 'takes a limit of 0 for none',
    ...asking(({ limit, ...query }) => ({ ...query, ...(limit && { limit }) })),
    fails: ['reading find(collection, { limit }) answers with nothing at 0'],
  },
  {
    that: 'ignores the limit',
    ...asking(({ limit, ...query }) => query),
    fails: [
      'reading find(collection, { limit }) answers with nothing at 0',
      'reading find(collection, { limit }) answers with the first documents of the order',
      'reading find(collection, { limit }) counts from the end that descending begins at',
      'reading find(collection, { limit }) counts what equality and range leave',
    ],
  },
  {
    that: 'cuts before it turns round',
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
    fails: ['reading find(collection, { limit }) counts from the end that descending begins at'],
  },
  {
    that: 'answers with nothing for an unknown collection',
    fault: inSnapshot((snapshot) => ({
      async *find(...given) {
        try {
          yield* snapshot.find(...given);
        } catch (error) {
          if (!hasCode(error, 'unknown_collection')) throw error;
        }
      },
    })),
    fails: ['reading find(collection) rejects with unknown_collection for one that is not declared'],
  },
  {
    that: 'stops after 20,000 documents',
    ...asking((query) => ({ ...query, limit: Math.min(query.limit ?? 20_000, 20_000) })),
    fails: [
      'reading from a large dataset a collection of 50,000 documents is found whole, each document once and in order',
    ],
  },
];
