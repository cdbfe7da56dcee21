/** Positions of documents in a sort order. Adapters use them to read the next batch. */
import type { Document } from '../contracts/dataset.js';
import type { JsonRows, Query, Scalar } from '../contracts/storage.js';

/** Returns the fields of the order that the query does not fix to a single value. */
export const freeFields = ({ order, equal = {} }: Query): readonly string[] => order.slice(Object.keys(equal).length);

/** Returns the position of a document, for `after`. The position is empty if the query selects a single document. */
export const positionOf = (query: Query, document: Document): readonly Scalar[] =>
  freeFields(query).map((field) => document[field] as Scalar);

/** Parses the last document. `rows` must contain at least one document. */
export const lastDocument = ({ json, ends }: JsonRows): Document =>
  JSON.parse(json.toString('utf8', ends.length > 1 ? ends.at(-2)! + 1 : 0, ends.at(-1)));
