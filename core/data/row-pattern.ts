/** Recognizes valid rows with a regular expression, in a tenth of the time that parsing and checking them takes. */
import { isUtf8 } from 'node:buffer';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { JsonRows } from '../contracts/storage.js';

const NUMBER = String.raw`-?(?:0|[1-9]\d{0,199})(?:\.\d+)?(?:[eE][+-]?\d\d?)?`;
const COMMON_DAY = String.raw`(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31`;
const LEAP_DAY = String.raw`\d\d(?:0[48]|[2468][048]|[13579][26])-02-29`;

/** A pattern for the JSON of each type. Some valid but rare values do not match, such as strings with escapes. */
const VALUES: Readonly<Record<string, string>> = {
  string: String.raw`"[^"\\\x00-\x1f]*"`,
  date: String.raw`"(?:\d{4}-(?:${COMMON_DAY})|${LEAP_DAY})"`,
  number: NUMBER,
  integer: String.raw`-?(?:0|[1-9]\d{0,199})`,
  boolean: 'true|false',
  null: 'null',
};

/** The keywords that the pattern enforces, and keywords that have no effect on which rows are valid. */
const ROW_KEYWORDS: ReadonlySet<string> = new Set(
  'type required properties additionalProperties title description examples $schema'.split(' '),
);
const FIELD_KEYWORDS: ReadonlySet<string> = new Set('type format title description examples default'.split(' '));

const MAX_FIELDS = 500;
/** Longer text is not matched, because the regular expression uses memory for each character of a string. */
const MAX_BYTES = 256 * 1024;

const hasOnly = (schema: object, keywords: ReadonlySet<string>): boolean =>
  Object.keys(schema).every((keyword) => keywords.has(keyword));

/** Returns a pattern for the values of a field, or undefined if its schema uses a keyword that no pattern can check. */
const valuesOf = (schema: JsonSchema): string | undefined => {
  const { type, format } = schema as { type?: string | readonly string[]; format?: string };
  if (!hasOnly(schema, FIELD_KEYWORDS) || type === undefined) return undefined;
  if (format !== undefined && format !== 'date') return undefined;
  const types = [type].flat().map((each) => VALUES[each === 'string' ? (format ?? each) : each]);
  return types.includes(undefined) ? undefined : `(?:${types.join('|')})`;
};

/** Returns a pattern for the names and values of all fields, in the order of the schema. */
const sourceOf = (schema: JsonSchema): string | undefined => {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, JsonSchema>>;
    required?: readonly string[];
  };
  const names = Object.keys(properties);
  if (!hasOnly(schema, ROW_KEYWORDS) || names.length === 0 || names.length > MAX_FIELDS) return undefined;
  if (required.some((name) => !Object.hasOwn(properties, name))) return undefined;
  const fields: string[] = [];
  for (const name of names) {
    const values = valuesOf(properties[name]!);
    if (values === undefined || !/^\w+$/.test(name)) return undefined;
    fields.push(`"${name}":${values}`);
  }
  return String.raw`\{${fields.join(',')}\}`;
};

/**
 * Returns a function that recognizes rows with all fields of a schema, in the same order and without spaces, as the
 * commands write them. The function returns true if all rows are valid, and false if this is not certain.
 * @returns undefined if the schema has rules that a pattern cannot check
 */
export const rowPattern = (schema: JsonSchema): ((rows: JsonRows) => boolean) | undefined => {
  const source = sourceOf(schema);
  if (source === undefined) return undefined;
  const row = new RegExp(source, 'y');
  return ({ json, ends }) => {
    if (json.length > MAX_BYTES || !isUtf8(json)) return false;
    // Latin-1 has one character for each byte, so `ends` are also positions in the text.
    const text = json.toString('latin1');
    let start = 0;
    for (const end of ends) {
      row.lastIndex = start;
      if (!row.test(text) || row.lastIndex !== end) return false;
      start = end + 1;
    }
    return true;
  };
};
