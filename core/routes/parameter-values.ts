import type { JsonSchema } from '../contracts/json-schema.js';
import type { ParameterValue } from '../contracts/plugin.js';
import type { Scalar } from '../contracts/storage.js';
import { excerpt } from '../keys/key.js';
import type { ErrorObject } from '../validation/compile-schema.js';
import { nearest } from '../validation/nearest.js';

const QUOTED = /\s*"((?:[^"]|"")*)"\s*(?:,|$)/y;

/** Splits a list at commas outside double quotes. Returns undefined if the quotes are malformed. */
const splitList = (raw: string): string[] | undefined => {
  const values = new Set<string>();
  for (let start = 0; start <= raw.length; ) {
    const comma = raw.indexOf(',', start);
    const end = comma === -1 ? raw.length : comma;
    const plain = raw.slice(start, end).trim();
    if (!plain.startsWith('"')) {
      values.add(plain);
      start = end + 1;
      continue;
    }
    QUOTED.lastIndex = start;
    const [whole, quoted] = QUOTED.exec(raw) ?? [];
    if (whole === undefined) return undefined;
    values.add(quoted!.replaceAll('""', '"'));
    start += whole.length + (whole.endsWith(',') ? 0 : 1);
  }
  return [...values];
};

export const valueText = (value: ParameterValue): string =>
  Array.isArray(value)
    ? value.map((each) => (/[",]|^\s|\s$/.test(String(each)) ? `"${String(each).replaceAll('"', '""')}"` : each)).join()
    : String(value);

export const convert = (raw: string, schema: JsonSchema): ParameterValue | undefined => {
  if (schema['type'] !== 'array') return convertOne(raw, schema['type'] as string);
  const { type } = schema['items'] as JsonSchema;
  const values = splitList(raw)?.map((value) => convertOne(value, type as string));
  return values?.includes(undefined) ? undefined : (values as Scalar[] | undefined);
};

/** Each number has only one accepted spelling: `5`, but not `05`, `+5`, `5.0` or ` 5`. */
const convertOne = (raw: string, type: string): Scalar | boolean | undefined => {
  if (type === 'string') return raw;
  if (type === 'boolean') return raw === 'true' ? true : raw === 'false' ? false : undefined;
  const pattern = type === 'integer' ? /^-?(0|[1-9]\d*)$/ : /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
  const number = pattern.test(raw) ? Number(raw) : Number.NaN;
  if (!Number.isFinite(number) || (type === 'integer' && !Number.isSafeInteger(number))) return undefined;
  return number;
};

const WHOLE = /^-?[1-9]\d*$/;

/** Explains why a value cannot be converted to the type of its schema. */
export const misfit = (raw: string, schema: JsonSchema): string => {
  const { type, minimum, maximum } = schema;
  if (type === 'integer' && WHOLE.test(raw)) {
    const bound = raw.startsWith('-') ? minimum : maximum;
    return bound === undefined ? 'is out of range' : `must be ${raw.startsWith('-') ? '>=' : '<='} ${bound}`;
  }
  if (type === 'boolean' && /^(true|false)$/i.test(raw)) return `must be ${article(schema)}, in lower case`;
  return `must be ${article(schema)}`;
};

export const article = ({ type, items }: JsonSchema): string => {
  if (type === 'array') return `a list of ${(items as JsonSchema)['type']}s, separated by commas`;
  return type === 'integer' ? 'an integer' : type === 'boolean' ? 'true or false' : `a ${type}`;
};

/** Error messages give only examples from lists with more allowed values than this. */
export const MOST_LISTED = 24;

/** Messages show at least this many characters of a value. */
const LEAST_SHOWN = 24;

/** @param isSingle true if the value is not an item of a list */
const notAllowed = (sent: string, values: readonly string[], isSingle: boolean): string => {
  const isList = isSingle && sent.includes(',') && sent.split(',').some((each) => values.includes(each.trim()));
  if (isList) return `allows only one value, not the list "${excerpt(sent)}"`;
  const sameLetters = values.find((value) => value.toLowerCase() === sent.toLowerCase());
  // Any two very short strings are similar, so a suggestion would be arbitrary.
  const guess = sameLetters ?? (sent.length > 2 ? nearest(sent, values) : undefined);
  if (guess !== undefined) return `does not allow "${excerpt(sent)}"; did you mean "${guess}"?`;
  // In `sort`, each name is also allowed with a minus sign.
  const names = values.filter((value) => !(value.startsWith('-') && values.includes(value.slice(1))));
  const more = names.length < values.length ? ', also with -' : '';
  const isListed = names.length <= MOST_LISTED;
  if (isListed && isSingle) return `must be one of ${names.join(', ')}${more}`;
  const allowed = isListed ? `: ${names.join(', ')}` : ` include ${names.slice(0, 3).join(', ')}`;
  // The allowed values make the message long, so a value that is much longer than all of them is cut off.
  const longest = Math.max(LEAST_SHOWN, ...values.map(({ length }) => length));
  return `does not allow "${excerpt(sent, longest)}"; allowed values${allowed}${more}`;
};

export const describe = ({ keyword, schema, data, instancePath, message = 'is not valid' }: ErrorObject): string => {
  if (data === '' && (keyword === 'enum' || keyword === 'minLength')) return 'must not be empty';
  if (keyword === 'enum') return notAllowed(String(data), (schema as unknown[]).map(String), instancePath === '');
  if (keyword === 'maxLength') return `must have at most ${schema} characters`;
  if (keyword === 'maxItems') return `must have at most ${schema} values`;
  if (keyword === 'format' && schema === 'date') return 'must be a calendar date, such as 2024-01-31';
  const digits = keyword === 'pattern' && /^\^\\d\{(\d+)\}\$$/.exec(String(schema))?.[1];
  return digits ? `must be ${digits} digits` : message;
};
