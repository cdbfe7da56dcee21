/** Finds the setting that an environment variable names: `PREFIX__SECTION__NAME`. */
import type { JsonSchema } from '../contracts/json-schema.js';
import { nearest } from '../validation/nearest.js';
import { formatPath, type Path, valueAt } from '../validation/path.js';
import { configSchema } from './schema.js';

/** A setting, with its schema where it is not inside a module's options. */
export interface Setting {
  readonly path: Path;
  readonly schema: JsonSchema | undefined;
}

export const typesOf = (schema: JsonSchema | undefined): readonly unknown[] => [schema?.['type'] ?? []].flat();

const propertiesOf = (schema: JsonSchema | undefined) =>
  schema?.['properties'] as Readonly<Record<string, JsonSchema>> | undefined;

export const schemaAt = (path: Path): JsonSchema | undefined =>
  path.reduce<JsonSchema | undefined>((schema, segment) => propertiesOf(schema)?.[segment], configSchema);

const plain = (name: string): string => name.replaceAll('_', '').toLowerCase();

/** `POLL_MS` is `pollMs`; a name with a small letter in it stays as it is. */
const camelCase = (name: string): string =>
  /[a-z]/.test(name) ? name : name.toLowerCase().replace(/_+(.)/g, (_, letter: string) => letter.toUpperCase());

/** As the documentation writes it: `limits.requestsPerMinute` is `METRO__LIMITS__REQUESTS_PER_MINUTE`. */
const variableOf = (prefix: string, path: Path): string =>
  [
    prefix,
    ...path.map((name) =>
      String(name)
        .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
        .toUpperCase(),
    ),
  ].join('__');

const item = (segment: string, { path, schema }: Setting, list: unknown): Setting | string => {
  const length = Array.isArray(list) ? list.length : 0;
  return /^\d{1,4}$/.test(segment) && Number(segment) <= length
    ? { path: [...path, Number(segment)], schema: schema?.['items'] as JsonSchema | undefined }
    : `"${segment}" is no place in the list ${formatPath(path)}; it must be a number from 0 to ${length}`;
};

const property = (segment: string, { path, schema }: Setting, current: unknown, prefix: string): Setting | string => {
  const properties = propertiesOf(schema);
  const names = Object.keys(properties ?? current ?? {});
  const name = names.find((each) => plain(each) === plain(segment));
  if (name !== undefined) return { path: [...path, name], schema: properties?.[name] };
  // The names inside `options` are the module's to know, which checks them later.
  const open = properties === undefined && typesOf(schema).every((type) => type === 'object' || type === 'array');
  const schemaOfAny = schema?.['additionalProperties'] as JsonSchema | undefined;
  if (open) return { path: [...path, camelCase(segment)], schema: schemaOfAny };
  const place = formatPath(path);
  const near = nearest(segment, names);
  const help =
    near !== undefined
      ? `did you mean ${variableOf(prefix, [...path, near])}?`
      : `${place || 'the configuration'} has ${names.length > 0 ? names.join(', ') : 'nothing inside it'}`;
  return `there is no setting "${formatPath([...path, segment])}"; ${help}`;
};

/**
 * @param root the configuration so far: its lists and options have places that the schema does not name
 * @returns the setting, or what is wrong with the variable's name
 */
export const findSetting = (variable: string, prefix: string, root: unknown): Setting | string => {
  let setting: Setting = { path: [], schema: configSchema };
  for (const segment of variable.slice(prefix.length + 2).split('__')) {
    const current = valueAt(root, setting.path);
    const list = Array.isArray(current) || (current === undefined && typesOf(setting.schema).includes('array'));
    const next = list ? item(segment, setting, current) : property(segment, setting, current, prefix);
    if (typeof next === 'string') return next;
    setting = next;
  }
  return setting;
};
