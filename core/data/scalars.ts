import type { Collection, Document } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Scalar } from '../contracts/storage.js';

type ScalarType = 'string' | 'integer' | 'number';

const scalarTypes: ReadonlySet<unknown> = new Set<ScalarType>(['string', 'integer', 'number']);

/** Returns undefined if the field cannot be part of a key or an order, for example because it is optional. */
export const scalarType = ({ schema }: Pick<Collection, 'schema'>, field: string): ScalarType | undefined => {
  const { properties, required } = schema as { properties?: Record<string, JsonSchema>; required?: readonly string[] };
  if (!Array.isArray(required) || !required.includes(field)) return undefined;
  if (!properties || !Object.hasOwn(properties, field)) return undefined;
  const type = properties[field]?.['type'];
  return scalarTypes.has(type) ? (type as ScalarType) : undefined;
};

export const isScalarOf = (type: ScalarType, value: unknown): value is Scalar =>
  type === 'string' ? typeof value === 'string' : type === 'integer' ? Number.isInteger(value) : Number.isFinite(value);

// Moves surrogates behind U+FFFF, because they encode higher code points.
export const codePointRank = (unit: number): number =>
  unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;

const compareStrings = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
};

/**
 * Compares two values, for `Array.sort`. Strings are compared by code point, which is also the order of their UTF-8
 * bytes. Numbers come before strings.
 */
export const compareScalars = (a: Scalar, b: Scalar): number => {
  if (a === b) return 0;
  if (typeof a === 'string') return typeof b === 'string' ? compareStrings(a, b) : 1;
  return typeof b === 'string' || a < b ? -1 : 1;
};

const DOUBLE = new DataView(new ArrayBuffer(8));
const DOUBLE_BYTES = new Uint8Array(DOUBLE.buffer);
const SIGN = 0x80;

/**
 * Returns the 8 bytes of a number. The sign bit of positive numbers is set, and all bits of negative numbers are
 * inverted, so that the bytes sort in numerical order. The next call overwrites the bytes.
 */
export const sortableBytes = (value: number): Uint8Array => {
  DOUBLE.setFloat64(0, value === 0 ? 0 : value);
  if (value < 0) for (let i = 0; i < 8; i++) DOUBLE_BYTES[i]! ^= 0xff;
  else DOUBLE_BYTES[0]! |= SIGN;
  return DOUBLE_BYTES;
};

/** Returns a function that compares documents by these fields, which must contain scalars. */
export const compareBy =
  (fields: readonly string[]) =>
  (a: Document, b: Document): number => {
    for (const field of fields) {
      const order = compareScalars(a[field] as Scalar, b[field] as Scalar);
      if (order !== 0) return order;
    }
    return 0;
  };
