/** Which scalar a collection's schema gives to a field, and whether a value is one. */
import type { Collection } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Scalar } from '../contracts/storage.js';

export type ScalarType = 'string' | 'integer' | 'number';

const scalarTypes: ReadonlySet<unknown> = new Set<ScalarType>(['string', 'integer', 'number']);

/** The type of a field that may be part of a key or an order: required, of one scalar type; or undefined. */
export const scalarType = ({ schema }: Pick<Collection, 'schema'>, field: string): ScalarType | undefined => {
  const { properties, required } = schema as { properties?: Record<string, JsonSchema>; required?: readonly string[] };
  if (!Array.isArray(required) || !required.includes(field)) return undefined;
  if (!properties || !Object.hasOwn(properties, field)) return undefined;
  const type = properties[field]?.['type'];
  return scalarTypes.has(type) ? (type as ScalarType) : undefined;
};

export const isScalarOf = (type: ScalarType, value: unknown): value is Scalar =>
  type === 'string' ? typeof value === 'string' : type === 'integer' ? Number.isInteger(value) : Number.isFinite(value);
