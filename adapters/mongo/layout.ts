/**
 * Defines the layout of the database.
 *
 * - `catalog`: one document with the list of versions and the current version (see `catalog.ts`).
 * - `versions`: one document per version with its manifest and, for each collection, the row count and digest.
 * - `replicas`: one document per running replica with the versions that it has locked (see `version-locks.ts`). A
 *   replica needs the role `readWrite` to write its document.
 * - `data.<id>.<collection>`: the rows of one collection in one version. `_id` is the row number, `d` the row, and `j`
 *   the row as JSON text. Indexes and filters use `d`; clients receive `j` unchanged. If the collection declares a
 *   search, `w` contains the words of the searched fields.
 *
 * Each version has its own MongoDB collections, so it is deleted by dropping them. This frees the space and takes the
 * same time regardless of size. Indexes need no version field and match the orders that the publisher declared. Because
 * rows are stored in the field `d`, their fields can have any name, including `_id` and names with dots and dollar
 * signs.
 */

import type { Collection, Document, JsonRows, Manifest, Query, Scalar } from 'metro-forecast-api/adapter';
import { type Filter, type FindOptions, MongoServerError } from 'mongodb';

/**
 * The version of the database layout, stored with each dataset version. Increase this number if a new layout is
 * incompatible.
 */
export const LAYOUT = 2;

export interface VersionDocument {
  readonly _id: number;
  /** Undefined if the version was published before database layouts were numbered. */
  readonly layout?: number;
  readonly manifest: Manifest;
  readonly collections: Readonly<
    Record<
      string,
      {
        readonly rows: number;
        readonly sha256: string;
        readonly orders: readonly (readonly string[])[];
        readonly search?: readonly string[];
      }
    >
  >;
}

const DUPLICATE_KEY = 11000;

/** True if an insert failed because its id or another unique value already exists. */
export const isDuplicate = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

export interface Row {
  readonly _id: number;
  readonly d: Document;
  readonly j: string;
  readonly w?: readonly string[];
}

export const wordFilters = (words: readonly string[]): Filter<Row>[] =>
  words.map((word) => ({ w: word.endsWith('*') ? new RegExp(`^${word.slice(0, -1)}`) : word }));

export const dataCollection = (id: number, collection: string): string => `data.${id}.${collection}`;

export const versionIdOf = (name: string): number | undefined => {
  const id = /^data\.(\d+)\./.exec(name)?.[1];
  return id === undefined ? undefined : Number(id);
};

export const indexOf = (order: readonly string[], direction: 1 | -1 = 1): Record<string, 1 | -1> =>
  Object.fromEntries(order.map((field) => [`d.${field}`, direction]));

interface Plan {
  readonly filter: Filter<Row>;
  readonly options: FindOptions;
}

const PROJECTION = { _id: 0, j: 1 };

/**
 * Offsets of the string length and the string in a BSON document whose only field is `j`. The length includes the
 * trailing NUL.
 */
const LENGTH_AT = 7;
const TEXT_AT = 11;
const COMMA = 0x2c;

/**
 * Joins the JSON of the rows with commas. Writes the result over the input.
 * @param documents a BSON array
 */
export const jsonOf = (documents: Uint8Array): JsonRows => {
  const bytes = Buffer.from(documents.buffer, documents.byteOffset, documents.length);
  const ends: number[] = [];
  let size = 0;
  // Each element has a type, an index that ends with NUL, and a document. The array itself ends with NUL.
  for (let at = 4; bytes[at] !== 0; ) {
    const document = bytes.indexOf(0, at) + 1;
    at = document + bytes.readInt32LE(document);
    const length = bytes.readInt32LE(document + LENGTH_AT);
    bytes.copyWithin(size, document + TEXT_AT, document + TEXT_AT + length);
    size += length;
    // A comma replaces the trailing NUL of the string.
    bytes[size - 1] = COMMA;
    ends.push(size - 1);
  }
  return { json: bytes.subarray(0, Math.max(0, size - 1)), ends };
};

const keyed = new WeakMap<Collection, { readonly fields: readonly string[]; readonly options: FindOptions }>();

const keyedBy = (collection: Collection) => {
  let plan = keyed.get(collection);
  if (!plan) {
    const { key } = collection;
    plan = {
      fields: key.map((field) => `d.${field}`),
      options: { projection: PROJECTION, hint: indexOf(key), limit: 1 },
    };
    keyed.set(collection, plan);
  }
  return plan;
};

export const planGet = (collection: Collection, values: readonly Scalar[]): Plan => {
  const { fields, options } = keyedBy(collection);
  const filter: Record<string, Scalar> = {};
  for (let i = 0; i < fields.length; i++) filter[fields[i]!] = values[i]!;
  return { filter, options };
};

type Conditions = Readonly<Record<string, Readonly<Record<string, Scalar>>>>;

const conditionsOf = ({ equal = {}, range }: Query): Conditions => {
  const conditions: Record<string, Record<string, Scalar>> = {};
  for (const [field, value] of Object.entries(equal)) conditions[`d.${field}`] = { $eq: value };
  const bounds = {
    ...(range?.from !== undefined && { $gte: range.from }),
    ...(range?.to !== undefined && { $lte: range.to }),
  };
  // MongoDB would compare the field with an empty object.
  if (range && Object.keys(bounds).length > 0) conditions[`d.${range.field}`] = bounds;
  return conditions;
};

/**
 * Returns conditions for the documents after the position `after`. Each such document matches exactly one condition. A
 * condition requires the values of `after` in some leading fields, and a later value in the next field. MongoDB reads
 * the range of each condition from the index, and merges the ranges in order.
 */
const alternativesBehind = (after: readonly Scalar[], query: Query): readonly Conditions[] => {
  const base = conditionsOf(query);
  const free = query.order.slice(query.order.length - after.length).map((field) => `d.${field}`);
  const same = (count: number): Conditions =>
    Object.fromEntries(free.slice(0, count).map((field, i) => [field, { ...base[field], $eq: after[i]! }]));
  return free.map((field, i) => ({
    ...base,
    ...same(i),
    [field]: { ...base[field], [query.descending ? '$lt' : '$gt']: after[i]! },
  }));
};

export const planFind = (query: Query, limit: number): Plan => {
  const { order, descending, after, words } = query;
  const [first = {}, ...others] = after ? alternativesBehind(after, query) : [conditionsOf(query)];
  const filter: Filter<Row> = others.length === 0 ? first : { $or: [first, ...others] };
  return {
    filter: words ? { $and: [filter, ...wordFilters(words)] } : filter,
    options: {
      projection: PROJECTION,
      // For a search, MongoDB chooses between the word index and the index for the sort order.
      ...(words ? {} : { hint: indexOf(order) }),
      sort: indexOf(order, descending ? -1 : 1),
      limit,
    },
  };
};
