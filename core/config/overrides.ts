/**
 * Environment variables that override the configuration: `METRO__SECTION__NAME`, and well-known names such as `PORT`.
 */
import type { JsonSchema } from '../contracts/json-schema.js';
import { fileErrorReason } from '../util/error-reason.js';
import { readRegular } from '../util/read-file.js';
import { type Override, propertiesOf } from '../validation/describe-errors.js';
import { isObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';
import { formatPath, type Path, valueAt } from '../validation/path.js';
import { configSchema } from './schema.js';

/**
 * The setting that an environment variable overrides. Module options have no `schema`, because their schema is unknown
 * until the module is loaded.
 */
interface Setting {
  readonly path: Path;
  readonly schema: JsonSchema | undefined;
}

const typesOf = (schema: JsonSchema | undefined): readonly unknown[] => [schema?.['type'] ?? []].flat();

export const schemaAt = (path: Path): JsonSchema | undefined =>
  path.reduce<JsonSchema | undefined>((schema, segment) => propertiesOf(schema)?.[segment], configSchema);

const plain = (name: string): string => name.replaceAll('_', '').toLowerCase();

/** Converts `POLL_MS` to `pollMs`. Names that contain lower-case letters stay unchanged. */
const camelCase = (name: string): string =>
  /[a-z]/.test(name) ? name : name.toLowerCase().replace(/_+(.)/g, (_, letter: string) => letter.toUpperCase());

/** Converts `limits.requestsPerMinute` to `METRO__LIMITS__REQUESTS_PER_MINUTE`. */
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
    : `"${segment}" is not an index of the list ${formatPath(path)}; use a number from 0 to ${length}`;
};

const property = (segment: string, { path, schema }: Setting, current: unknown, prefix: string): Setting | string => {
  const properties = propertiesOf(schema);
  const names = Object.keys(properties ?? current ?? {});
  const name = names.find((each) => plain(each) === plain(segment));
  if (name !== undefined) return { path: [...path, name], schema: properties?.[name] };
  // Module options have no schema here. They are checked when the module is loaded.
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

const findSetting = (variable: string, prefix: string, root: unknown): Setting | string => {
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

export interface NamedVariable {
  readonly variable: string;
  readonly path: Path;
  /** The variable has an effect only if this module is configured. Example: `{ at: ['adapter'], use: 'store' }`. */
  readonly when?: { readonly at: Path; readonly use: string };
  /** If true, the value can also be in a file whose path is in `<variable>_FILE`. */
  readonly secret?: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export type Draft = Record<string | number, unknown>;

/**
 * Parses the value of an environment variable as JSON. Text that is not JSON stays a string. If the setting is a
 * string, values such as `1` and `true` also stay strings.
 */
const parse = (text: string, schema: JsonSchema | undefined): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const types = typesOf(schema);
  if (!types.includes('string') || typeof value === 'object') return value;
  return types.includes(typeof value) || (typeof value === 'number' && types.includes('integer')) ? value : text;
};

/** Sets a value in the configuration. Returns the reason if the value cannot be set. */
const assign = (root: Draft, path: Path, value: unknown): string | undefined => {
  let node = root;
  for (const [i, segment] of path.entries()) {
    const last = i === path.length - 1;
    const held = Object.hasOwn(node, segment) ? node[segment] : undefined;
    const next = last ? value : (held ?? (typeof path[i + 1] === 'number' ? [] : {}));
    if (!last && !isObject(next)) return `${formatPath(path.slice(0, i + 1))} is neither an object nor a list`;
    // An assignment would set the prototype if the name is "__proto__".
    Object.defineProperty(node, segment, { value: next, writable: true, enumerable: true, configurable: true });
    node = next as Draft;
  }
  return undefined;
};

/** Expands module names in place: `"markets"` becomes `{ "use": "markets", "options": {} }`. */
export const expandModules = (root: Draft): void => {
  const expand = (part: unknown) => (typeof part === 'string' ? { use: part, options: {} } : part);
  const { adapter, plugins, auth } = root;
  if (typeof adapter === 'string') root['adapter'] = expand(adapter);
  if (Array.isArray(plugins)) root['plugins'] = plugins.map(expand);
  if (isObject(auth) && typeof auth['keys'] === 'string') auth['keys'] = expand(auth['keys']);
};

type ValueFiles = ReadonlyMap<string, { readonly content?: string; readonly error?: string }>;

/**
 * Reads values from files for variables such as `REDIS_PASSWORD_FILE`. Module options are excluded, because the name of
 * an option can itself end in `_FILE`.
 */
export const withFiles = async (
  env: Environment,
  prefix: string,
  named: readonly NamedVariable[],
): Promise<{ env: Environment; files: ValueFiles }> => {
  const files = new Map<string, { content?: string; error?: string }>();
  const rest: Record<string, string | undefined> = { ...env };
  for (const [name, path] of Object.entries(env)) {
    const variable = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : '';
    const general = variable.startsWith(`${prefix}__`) && !variable.includes('__OPTIONS__');
    if (!path || !(general || named.some((each) => each.secret && each.variable === variable))) continue;
    delete rest[name];
    files.set(variable, await readValue(name, path, Boolean(env[variable]) && variable));
    rest[variable] ||= path;
  }
  return { env: rest, files };
};

const MAX_VALUE_BYTES = 2 ** 20;

const readValue = async (
  name: string,
  path: string,
  twice: string | false,
): Promise<{ content?: string; error?: string }> => {
  if (twice) return { error: `${name}: ${twice} is also set; remove one of them` };
  try {
    const content = (await readRegular(path, MAX_VALUE_BYTES)).replace(/\r?\n$/, '');
    return content === '' ? { error: `${name}: ${path} is empty` } : { content };
  } catch (error) {
    return { error: `${name}: ${path} cannot be read: ${fileErrorReason(error)}` };
  }
};

/**
 * Applies environment variables to a configuration in place. Empty variables are ignored.
 * - `PREFIX__SECTION__NAME=value` sets `section.name`. Case and single underscores are ignored.
 * - A number selects a list item. An index equal to the length of the list appends an item.
 * - Values are parsed as JSON if possible, and are otherwise strings.
 * - Names inside `options` are written as in the file, or in capitals with underscores: `POLL_MS` is `pollMs`.
 * - Variables with the prefix take precedence over well-known ones.
 * @returns the overridden settings, and an error for each variable that matches no setting
 */
export const applyEnvironment = (
  root: Draft,
  { env, files }: { readonly env: Environment; readonly files: ValueFiles },
  prefix: string,
  named: readonly NamedVariable[],
): { overrides: Override[]; errors: string[] } => {
  const overrides: Override[] = [];
  const errors: string[] = [];

  const set = (variable: string, path: Path, schema: JsonSchema | undefined): void => {
    const file = files.get(variable);
    if (file?.error !== undefined) return void errors.push(file.error);
    const obstacle = assign(root, path, parse(file?.content ?? env[variable] ?? '', schema));
    if (obstacle !== undefined) errors.push(`${variable}: cannot be set, ${obstacle}`);
    else overrides.push({ path: formatPath(path), variable: file ? `${variable}_FILE` : variable });
    expandModules(root);
  };

  // Variables with fewer segments are applied first, so that one variable can set a section, and another can change
  // part of it.
  const depth = (variable: string) => variable.split('__').length;
  const general = Object.keys(env).filter((variable) => variable.startsWith(`${prefix}__`) && env[variable]);
  for (const variable of general.sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))) {
    const setting = findSetting(variable, prefix, root);
    if (typeof setting === 'string') errors.push(`${variable}: ${setting}`);
    else set(variable, setting.path, setting.schema);
  }

  for (const { variable, path, when } of named) {
    const taken = overrides.some((override) => override.path === formatPath(path));
    const meant = when === undefined || valueAt(root, [...when.at, 'use']) === when.use;
    if (env[variable] && !taken && meant) set(variable, path, schemaAt(path));
  }
  return { overrides, errors };
};

export const strayVariables = (env: Environment, prefix: string): string[] =>
  Object.keys(env).flatMap((variable) => {
    if (!variable.startsWith(`${prefix}_`) || variable.startsWith(`${prefix}__`)) return [];
    const name = variable.slice(prefix.length + 1);
    if (name.includes('__')) return `${variable}: setting names start with "${prefix}__", with two underscores`;
    const misspelt = name !== 'CONFIG' && nearest(name, ['CONFIG']) !== undefined;
    return misspelt ? `${variable}: there is no such variable; did you mean ${prefix}_CONFIG?` : [];
  });
