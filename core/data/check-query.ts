import type { Collection } from '../contracts/dataset.js';
import type { Query, Scalar } from '../contracts/storage.js';
import { StorageError } from '../errors.js';
import { counted } from '../util/counted.js';
import { isScalarOf, scalarType } from './scalars.js';

const PARTS: ReadonlySet<string> = new Set<keyof Query>([
  'order',
  'equal',
  'range',
  'descending',
  'after',
  'limit',
  'words',
]);

export const invalid = (collection: Collection, problem: string): StorageError =>
  new StorageError('invalid_query', `Query of "${collection.name}": ${problem}.`);

const list = (fields: readonly string[]): string => `[${fields.join(', ')}]`;

const checkValue = (collection: Collection, field: string, value: unknown): Scalar => {
  const type = scalarType(collection, field);
  if (type !== undefined && isScalarOf(type, value)) return value;
  const got = typeof value === 'string' ? `the string ${JSON.stringify(value)}` : String(value);
  throw invalid(collection, `the value of "${field}" must be of type ${type}, not ${got}`);
};

export const checkKey = (collection: Collection, key: readonly Scalar[]): void => {
  if (key.length !== collection.key.length) {
    throw invalid(collection, `a key has ${counted(collection.key.length, 'value')}, for ${list(collection.key)}`);
  }
  for (const [i, field] of collection.key.entries()) checkValue(collection, field, key[i]);
};

const checkOrder = (collection: Collection, order: readonly string[] = collection.key): readonly string[] => {
  const allowed = [collection.key, ...(collection.orders ?? [])];
  const same = allowed.find((one) => one.length === order.length && one.every((field, i) => field === order[i]));
  if (same) return same;
  throw invalid(collection, `the order ${list(order)} is not one of ${allowed.map(list).join(', ')}`);
};

const checkEqual = (collection: Collection, order: readonly string[], equal: Record<string, unknown>) => {
  const fields = order.slice(0, Object.keys(equal).length);
  if (fields.length === 0) return undefined;
  if (!fields.every((field) => Object.hasOwn(equal, field)) || fields.length < Object.keys(equal).length) {
    const named = list(Object.keys(equal));
    throw invalid(collection, `"equal" names ${named}, which are not the leading fields of the order ${list(order)}`);
  }
  return Object.fromEntries(fields.map((field) => [field, checkValue(collection, field, equal[field])]));
};

const checkRange = (collection: Collection, free: readonly string[], range: NonNullable<Query['range']>) => {
  const { field, from, to } = range;
  if (!free.includes(field)) {
    throw invalid(collection, `"range" is over "${field}", which is not one of the remaining fields ${list(free)}`);
  }
  if (from === undefined && to === undefined) return undefined;
  return {
    field,
    ...(from !== undefined && { from: checkValue(collection, field, from) }),
    ...(to !== undefined && { to: checkValue(collection, field, to) }),
  };
};

const checkAfter = (collection: Collection, free: readonly string[], after: unknown): readonly Scalar[] => {
  if (!Array.isArray(after) || free.length === 0 || after.length !== free.length) {
    const problem =
      free.length === 0
        ? '"after" needs a field that "equal" does not name'
        : `"after" must be a list of ${counted(free.length, 'value')}, for ${list(free)}`;
    throw invalid(collection, problem);
  }
  return free.map((field, i) => checkValue(collection, field, after[i]));
};

export const checkQuery = (collection: Collection, query: Partial<Query>): Query => {
  const unknown = Object.keys(query).filter((part) => !PARTS.has(part));
  if (unknown.length > 0) throw invalid(collection, `unknown parts ${list(unknown)}; a query has ${list([...PARTS])}`);
  const { descending = false, limit } = query;
  if (typeof descending !== 'boolean') throw invalid(collection, '"descending" must be true or false');
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0)) {
    throw invalid(collection, `"limit" must be a whole number from 0, not ${limit}`);
  }
  const order = checkOrder(collection, query.order);
  const equal = query.equal && checkEqual(collection, order, query.equal);
  const free = order.slice(equal ? Object.keys(equal).length : 0);
  const range = query.range && checkRange(collection, free, query.range);
  return {
    order,
    ...(equal && { equal }),
    ...(range && { range }),
    ...(descending && { descending }),
    ...(query.after !== undefined && { after: checkAfter(collection, free, query.after) }),
    ...(limit !== undefined && { limit }),
    ...(query.words && { words: query.words }),
  };
};
