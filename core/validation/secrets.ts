/** Keeps secrets out of everything that is shown: values marked `x-secret`, and passwords in URLs. */
import type { JsonSchema } from '../contracts/json-schema.js';
import { isObject } from './json.js';

const MASK = '***';

/** What to do about an address that cannot be read, mostly for what stands in its password. */
export const ENCODE_CREDENTIALS =
  'percent-encode what is special in the user name and the password: @ is %40, : is %3A, / is %2F';

/** Names that give a secret away where no schema says so. */
const SECRET_NAME = /pass(word|phrase)?$|secret|token|credential|pepper|(api|private|access)_?key$/i;

/** Greedy up to the last `@`: passwords with an unescaped `@` or `/` in them are masked whole. */
export const maskUrlPasswords = (text: string): string =>
  text.replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):\S*@/gi, `$1:${MASK}@`);

/** A secret URL still shows its scheme and hosts, which operators need to see; all else becomes `***`. */
const maskSecret = (value: unknown): unknown => {
  if (value === null || value === undefined || value === '') return value;
  const url = typeof value === 'string' ? /^([a-z][a-z0-9+.-]*:\/\/)(.*@)?([^/?#@]*)(.*)$/is.exec(value) : null;
  if (!url) return MASK;
  const [, scheme, user, hosts, rest = ''] = url;
  return `${scheme}${user === undefined ? '' : `${MASK}@`}${hosts}${rest.length > 1 ? `/${MASK}` : ''}`;
};

const childSchema = (schema: JsonSchema | undefined, name: string): JsonSchema | undefined => {
  const { properties, additionalProperties } = schema ?? {};
  if (isObject(properties) && Object.hasOwn(properties, name)) return properties[name] as JsonSchema;
  return isObject(additionalProperties) ? additionalProperties : undefined;
};

/** A copy with secrets masked: those that the schema marks, by name where no schema is known, passwords in URLs. */
export const maskBySchema = (value: unknown, schema: JsonSchema | undefined, name = ''): unknown => {
  if (schema?.['x-secret'] === true) return maskSecret(value);
  if (schema === undefined && SECRET_NAME.test(name)) return maskSecret(value);
  if (typeof value === 'string') return maskUrlPasswords(value);
  if (Array.isArray(value))
    return value.map((item) => maskBySchema(item, schema?.['items'] as JsonSchema | undefined, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, maskBySchema(item, childSchema(schema, key), key)]),
  );
};

/** Whether anything inside the schema is secret, so that a wrong value in its place may be the secret itself. */
export const holdsSecret = (schema: unknown): boolean =>
  isObject(schema) && (schema['x-secret'] === true || Object.values(schema).some(holdsSecret));
