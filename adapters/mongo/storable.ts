/** Finds JSON values that BSON cannot represent. */
import type { Document } from 'metro-forecast-api/adapter';

/** What the JSON of a row has that may not be storable; only rows that match are searched value by value. */
const SUSPICIOUS = /\\u|"_bsontype"|"\$ref"/i;

const HALF_PAIR = /\p{Surrogate}/u;

const fault = (value: unknown, path: string): string | undefined => {
  if (typeof value === 'string') {
    return HALF_PAIR.test(value) ? `${path} holds half a surrogate pair, which UTF-8 has no bytes for` : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`;
    if (name.includes('\0')) return `the name of ${JSON.stringify(at)} contains the character U+0000`;
    if (HALF_PAIR.test(name)) return `the name of ${JSON.stringify(at)} holds half a surrogate pair`;
    // The driver takes objects with such a field for types of its own.
    if (name === '_bsontype') return `${at} has a name that MongoDB's driver keeps for itself`;
    if (name === '$ref' && '$id' in value) return `${path} would be read back as a database reference`;
    const found = fault(inner, at);
    if (found) return found;
  }
  return undefined;
};

/**
 * Why MongoDB cannot give a row back exactly as it is, or undefined.
 * @param json the row as JSON text
 */
export const unstorable = (row: Document, json: string): string | undefined =>
  SUSPICIOUS.test(json) ? fault(row, 'the row') : undefined;
