/**
 * How snapshots lie in the database.
 *
 * - `catalog`: one document that says which versions there are and which is current (see `catalog.ts`).
 * - `versions`: a document per version with its manifest and what each collection holds.
 * - `replicas`: what each running replica holds (see `holds.ts`).
 *   A replica needs the role readWrite for them, or it cannot serve.
 * - `data.<id>.<collection>`: the rows of one collection of one version, as `{ _id: <row number>, d: <row> }`.
 *
 * A MongoDB collection per version, rather than one with a version field: deleting a version is a drop, which
 * costs the same at any size and gives the space back; no index carries a version in front; and a version's
 * indexes are those that its own publisher declared. Rows stand under `d`, so that they may have any field,
 * `_id` and names with dots and dollars included.
 */
import type { Filter, FindOptions } from 'mongodb';
import type { Collection, Document } from '../../core/contracts/dataset.js';
import type { Query, Scalar } from '../../core/contracts/storage.js';

export interface Row {
  readonly _id: number;
  readonly d: Document;
}

export const dataCollection = (id: number, collection: string): string => `data.${id}.${collection}`;

/** The version's id in the name of a data collection, or undefined for another name. */
export const versionIdOf = (name: string): number | undefined => {
  const id = /^data\.(\d+)\./.exec(name)?.[1];
  return id === undefined ? undefined : Number(id);
};

/** One index for each order; the first, of the key, is unique. */
export const ordersOf = (collection: Collection): readonly (readonly string[])[] => [
  collection.key,
  ...(collection.orders ?? []),
];

export const indexOf = (order: readonly string[], direction: 1 | -1 = 1): Record<string, 1 | -1> =>
  Object.fromEntries(order.map((field) => [`d.${field}`, direction]));

interface Plan {
  readonly filter: Filter<Row>;
  readonly options: FindOptions;
}

const PROJECTION = { _id: 0 };

/** What is the same for all reads by the key of a collection. */
const keyed = new WeakMap<Collection, { readonly fields: readonly string[]; readonly options: FindOptions }>();

const keyedBy = (collection: Collection) => {
  let plan = keyed.get(collection);
  if (!plan) {
    const { key } = collection;
    plan = { fields: key.map((field) => `d.${field}`), options: { projection: PROJECTION, hint: indexOf(key) } };
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

export const planFind = ({ order, equal = {}, range, descending, limit }: Query, batchSize: number): Plan => {
  const filter: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(equal)) filter[`d.${field}`] = value;
  if (range) {
    filter[`d.${range.field}`] = {
      ...(range.from !== undefined && { $gte: range.from }),
      ...(range.to !== undefined && { $lte: range.to }),
    };
  }
  return {
    filter,
    options: {
      projection: PROJECTION,
      hint: indexOf(order),
      sort: indexOf(order, descending ? -1 : 1),
      batchSize,
      ...(limit !== undefined && { limit }),
    },
  };
};
