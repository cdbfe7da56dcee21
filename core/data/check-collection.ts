/** Checks collections as their plugins declare them. */
import type { Collection } from '../contracts/dataset.js';
import { compileSchema } from '../validation/compile-schema.js';
import { scalarType } from './scalars.js';

const NAME = /^[a-z][a-z0-9_]*$/;

const fieldErrors = (collection: Collection, what: string, fields: readonly string[]): string[] => {
  if (fields.length === 0) return [`${what} has no fields`];
  const errors: string[] = [];
  for (const field of new Set(fields)) {
    if (!NAME.test(field)) errors.push(`${what}: the field name "${field}" must match ${NAME.source}`);
    else if (scalarType(collection, field) === undefined) {
      errors.push(`${what}: "${field}" must be a required property of the schema, of type string, integer or number`);
    }
  }
  if (new Set(fields).size < fields.length) errors.push(`${what} names a field twice`);
  return errors;
};

const orderErrors = (collection: Collection): string[] => {
  const seen = new Set([collection.key.join()]);
  return (collection.orders ?? []).flatMap((order: readonly string[]) => {
    const what = `order [${order.join(', ')}]`;
    const errors = fieldErrors(collection, what, order);
    const missing = collection.key.filter((field) => !order.includes(field));
    if (missing.length > 0) errors.push(`${what} leaves ties: add the key's "${missing.join('", "')}" at its end`);
    if (seen.has(order.join())) errors.push(`${what} is declared already`);
    seen.add(order.join());
    return errors;
  });
};

const schemaErrors = ({ schema }: Collection): string[] => {
  if (schema['type'] !== 'object') return ['the schema must have "type": "object"'];
  try {
    compileSchema(schema);
    return [];
  } catch (error) {
    return [`the schema does not compile: ${(error as Error).message}`];
  }
};

/** Errors of one declaration, without the name of the collection; none if it is correct. */
export const checkCollection = (collection: Collection): string[] => [
  ...(NAME.test(collection.name) ? [] : [`the name must match ${NAME.source}`]),
  ...schemaErrors(collection),
  ...fieldErrors(collection, 'the key', collection.key),
  ...orderErrors(collection),
  ...(collection.references ?? []).flatMap(({ fields, to }) =>
    fieldErrors(collection, `the reference to "${to}"`, fields),
  ),
];

/** Errors of a collection's references. @param byName all collections of the service */
export const referenceErrors = (collection: Collection, byName: ReadonlyMap<string, Collection>): string[] =>
  (collection.references ?? []).flatMap(({ fields, to }) => {
    const target = byName.get(to);
    if (!target) return [`refers to the collection "${to}", which no plugin declares`];
    const types = (declaring: Collection, names: readonly string[]) =>
      names.map((name) => scalarType(declaring, name)).join();
    return types(collection, fields) === types(target, target.key)
      ? []
      : [`has a reference [${fields.join(', ')}] without the number and types of the key of "${to}"`];
  });
