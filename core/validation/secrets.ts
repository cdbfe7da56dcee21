import type { JsonSchema } from '../contracts/json-schema.js';
import { isObject } from './json.js';

const MASK = '***';

/** If a URL cannot be parsed, the usual cause is an unescaped character in the password. */
export const ENCODE_CREDENTIALS =
  'percent-encode special characters in the user name and the password: @ is %40, : is %3A, / is %2F';

const SECRET_NAME = /pass(word|phrase)?$|secret|token|credential|pepper|(api|private|access)_?key$/i;

/** Masks the text up to the last `@`, in case the password contains an unescaped `@` or `/`. */
export const maskUrlPasswords = (text: string): string =>
  text.replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):\S*@/gi, `$1:${MASK}@`);

/** The scheme and the hosts of a secret URL stay visible, because operators need to see them. */
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

/** Masks the secrets in a value. Without a schema, secrets are recognised by name. */
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

/**
 * True if any part of a schema is marked as secret. An invalid value of such a schema must not be shown, because it
 * might be the secret.
 */
export const holdsSecret = (schema: unknown): boolean =>
  isObject(schema) && (schema['x-secret'] === true || Object.values(schema).some(holdsSecret));
