import type { Document } from '../../../../core/contracts/dataset.js';
import type { Breakage } from '../breakable.js';
import { type BrokenAdapter, getting, reading } from './breaking.js';

const deeply = (value: unknown, change: (value: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((one) => deeply(one, change));
  if (typeof value !== 'object' || value === null) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deeply(one, change)]));
};

const everyValue = (change: (value: unknown) => unknown): Breakage =>
  reading((document) => deeply(document, change) as Document);

export const documentFaults: readonly BrokenAdapter[] = [
  {
    that: 'returns null for an absent document',
    ...getting(async (snapshot, ...given) => (await snapshot.get(...given)) ?? null),
    fails: ['reading get(collection, key) returns undefined, not null, for a key that no document has'],
  },
  {
    that: 'compares only the first field of a key',
    ...getting(async (snapshot, collection, key, signal) => {
      const found = await snapshot.get(collection, key, signal);
      if (found || collection !== 'readings') return found;
      const query = { order: ['station', 'day', 'hour'], equal: { station: key[0]! } };
      for await (const [first] of snapshot.find(collection, query)) return first;
      return undefined;
    }),
    fails: ['reading get(collection, key) compares every field of a key of several fields'],
  },
  {
    that: 'finds strings by their normal form',
    ...getting((snapshot, collection, key, signal) => {
      const normal = key.map((value) => (typeof value === 'string' ? value.normalize('NFC') : value));
      return snapshot.get(collection, normal, signal);
    }),
    fails: ['reading get(collection, key) compares strings by code point: no collation, no normal form, no patterns'],
  },
  {
    that: 'distinguishes -0 from 0',
    ...getting((snapshot, collection, key, signal) =>
      Object.is(key[0], -0) ? Promise.resolve(undefined) : snapshot.get(collection, key, signal),
    ),
    fails: ['reading get(collection, key) treats -0 as 0'],
  },
  {
    that: 'returns a field that it added',
    ...reading((document) => (document['id'] === 'absent' ? { _id: 1, ...document } : document)),
    fails: ['reading documents adds no field, such as `_id` or a null for an absent one'],
  },
  {
    that: 'loses nulls',
    ...reading((document) => Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null))),
    fails: ['reading documents keeps null, which is not absent'],
  },
  {
    that: 'keeps 0 and 1 for booleans',
    ...everyValue((value) => (typeof value === 'boolean' ? Number(value) : value)),
    fails: ['reading documents keeps booleans, which are not 0 or 1'],
  },
  {
    that: 'keeps 15 digits of numbers outside the key',
    ...everyValue((value) => (typeof value === 'number' ? Number(value.toPrecision(15)) : value)),
    fails: ['reading documents keeps numbers to the last bit, at any depth'],
  },
  {
    that: 'converts strings that look like dates',
    ...everyValue((value) => (/^\d{4}-.*Z$/.test(String(value)) ? new Date(String(value)) : value)),
    fails: ['reading documents keeps strings that look like other types'],
  },
  {
    that: 'treats dots in field names as paths',
    ...reading(({ 'a.b': dotted, ...document }) =>
      dotted === undefined ? document : { ...document, a: { b: dotted } },
    ),
    fails: ['reading documents keeps field names with dots, dollars, spaces and any letter'],
  },
  {
    that: 'loses fields named __proto__',
    ...reading(
      (document) =>
        JSON.parse(JSON.stringify(document), (name, value) => (name === '__proto__' ? undefined : value)) as Document,
    ),
    fails: [
      'reading documents keeps fields with the names of members of Object.prototype, and does not change the prototype',
    ],
  },
  {
    that: 'ends strings at NUL',
    ...reading(({ nul, ...document }) => ({ ...document, ...(nul !== undefined && { nul: 'a' }) })),
    fails: ['reading documents keeps text with quotes, line ends, NUL and emoji'],
  },
];
