import type { JsonSchema } from '../contracts/json-schema.js';
import { assertSchema, compileSchema, type ErrorObject } from './compile-schema.js';
import { nearest } from './nearest.js';
import { formatPath, isWithin, type Path, pointerPath } from './path.js';
import { holdsSecret, maskUrlPasswords } from './secrets.js';

export interface Override {
  readonly path: string;
  readonly variable: string;
}

const LONGEST_SHOWN = 80;

const show = (value: unknown, schema: JsonSchema): string => {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (holdsSecret(schema)) return 'the value (not shown, it may be a secret)';
  const text = typeof value === 'string' ? JSON.stringify(maskUrlPasswords(value)) : String(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
};

export const suggest = (name: string, names: readonly string[]): string => {
  const near = nearest(name, names);
  if (near !== undefined) return `did you mean "${near}"?`;
  return names.length > 0 ? `there are ${names.map((each) => `"${each}"`).join(', ')}` : 'there are none here';
};

/**
 * Removes redundant validation errors. For `anyOf` and `oneOf`, keeps only errors at deeper paths, if there are any.
 */
const withoutEchoes = (errors: readonly ErrorObject[]): ErrorObject[] => {
  const dropped = new Set<ErrorObject>();
  for (const error of errors) {
    if (error.keyword === 'if' || error.keyword === 'propertyNames') dropped.add(error);
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') continue;
    const inside = errors.filter((other) => other.schemaPath.startsWith(`${error.schemaPath}/`));
    const deeper = inside.filter((other) => other.instancePath.length > error.instancePath.length);
    for (const echo of deeper.length > 0 ? inside.filter((other) => !deeper.includes(other)) : inside)
      dropped.add(echo);
    if (deeper.length > 0) dropped.add(error);
  }
  return errors.filter((error) => !dropped.has(error));
};

/** Describes alternatives that differ only in their required settings, for example as `exactly one of "a", "b"`. */
const requiredChoice = ({ keyword, schema }: ErrorObject): string | undefined => {
  if (keyword !== 'oneOf' && keyword !== 'anyOf') return undefined;
  const names = (schema as JsonSchema[]).map((each) =>
    Object.keys(each).join() === 'required' ? each['required'] : [],
  );
  if (names.some((each) => (each as unknown[]).length === 0)) return undefined;
  const shown = names.map((each) => (each as string[]).map((name) => `"${name}"`).join(' with '));
  return `${keyword === 'oneOf' ? 'exactly' : 'at least'} one of ${shown.join(', ')}`;
};

const byVariable = ({ 'x-variable': name }: JsonSchema): string =>
  typeof name === 'string' ? `; the environment may give it as ${name}, or ${name}_FILE with the path of a file` : '';

export const propertiesOf = (schema: JsonSchema | undefined) =>
  schema?.['properties'] as Readonly<Record<string, JsonSchema>> | undefined;

/** Returns the paths of all settings with the given name, such as `server.port` and `metrics.port` for `port`. */
const pathsOf = (name: string, schema: JsonSchema | undefined, path: Path = []): string[] =>
  Object.entries(propertiesOf(schema) ?? {}).flatMap(([key, inner]) => [
    ...(key === name ? [formatPath([...path, key])] : []),
    ...pathsOf(name, inner, [...path, key]),
  ]);

const MOST_SUGGESTED = 3;

/** @param whole the schema of the whole configuration, which is searched for settings with this name */
const noSuchSetting = (name: string, schema: JsonSchema, whole: JsonSchema | undefined): string => {
  const elsewhere = pathsOf(name, whole);
  const isMisplaced = elsewhere.length > 0 && elsewhere.length <= MOST_SUGGESTED;
  const names = Object.keys(propertiesOf(schema) ?? {}).filter((each) => each !== '$schema');
  const advice = isMisplaced ? `did you mean ${list(elsewhere.map((each) => `"${each}"`))}?` : suggest(name, names);
  return `there is no such setting; ${advice}`;
};

const sentence = (error: ErrorObject, whole: JsonSchema | undefined): { path: Path; text: string } => {
  const schema = error.parentSchema as JsonSchema;
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    const name: string = error.params['additionalProperty'] ?? error.params['unevaluatedProperty'];
    return { path: [name], text: noSuchSetting(name, schema, whole) };
  }
  if (error.keyword === 'required') {
    const name: string = error.params['missingProperty'];
    const missing = propertiesOf(schema)?.[name];
    return {
      path: [name],
      text: `is missing${missing ? `; it must be ${describeSchema(missing)}${exampleOf(missing)}${byVariable(missing)}` : ''}`,
    };
  }
  const shown = show(error.data, schema);
  if (error.keyword === 'uniqueItems') {
    const [first, second] = [error.params['i'], error.params['j']].sort((a, b) => a - b);
    return {
      path: [],
      text: `items ${first} and ${second} are the same; each may occur once`,
    };
  }
  const choice = requiredChoice(error);
  if (choice)
    return { path: [], text: `there must be ${choice}${error.params['passingSchemas'] ? '' : byVariable(schema)}` };
  const allowed = describeSchema(schema);
  if (allowed === 'another value') return { path: [], text: `${shown} is not allowed; it ${error.message}` };
  return { path: [], text: `${shown} is not allowed; it must be ${allowed}${exampleOf(schema)}` };
};

export const placeOf = (path: string, overrides: readonly Override[]): string => {
  const from = overrides.find((override) => isWithin(path, override.path));
  return `${path || 'the whole'}${from ? ` (from ${from.variable})` : ''}`;
};

/** @param schema the schema of `value`. If given, unknown settings are also looked up in other sections. */
export const describeErrors = (
  errors: readonly ErrorObject[],
  value: unknown,
  root = '',
  overrides: readonly Override[] = [],
  schema?: JsonSchema,
): string[] => {
  const lines = withoutEchoes(errors).map((error) => {
    const { path, text } = sentence(error, schema);
    const full = formatPath([...pointerPath(error.instancePath, value), ...path], root);
    return `${placeOf(full, overrides)}: ${text}`;
  });
  return [...new Set(lines)];
};

/**
 * Validates options, and fills in the defaults of their schema in place.
 * @param isTested true if the tests of this package validate the schema. If true, the service does not validate it at
 *   startup
 */
export const checkOptions = (
  path: string,
  schema: JsonSchema,
  value: unknown,
  { overrides = [], isTested = false }: { readonly overrides?: readonly Override[]; readonly isTested?: boolean } = {},
): string[] => {
  let validate: ReturnType<typeof compileSchema>;
  try {
    if (!isTested) assertSchema(schema);
    validate = compileSchema(schema, { useDefaults: true });
  } catch (cause) {
    return [
      `${path}: cannot be checked because the module's schema for its options is invalid: ${(cause as Error).message}`,
    ];
  }
  return validate(value) ? [] : describeErrors(validate.errors!, value, path, overrides);
};

const list = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}`;

const range = ({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string => {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  const bounds = [
    minimum !== undefined && `of at least ${minimum}`,
    exclusiveMinimum !== undefined && `greater than ${exclusiveMinimum}`,
    maximum !== undefined && `of at most ${maximum}`,
    exclusiveMaximum !== undefined && `less than ${exclusiveMaximum}`,
  ].filter(Boolean);
  return bounds.length > 0 ? ` ${bounds.join(' and ')}` : '';
};

const text = ({ minLength, maxLength, format, pattern }: JsonSchema): string => {
  const rules = [
    format !== undefined && `in the format "${format}"`,
    pattern !== undefined && `matching ${pattern}`,
    maxLength !== undefined && `of at most ${maxLength} characters`,
    typeof minLength === 'number' && minLength > 1 && `of at least ${minLength} characters`,
  ].filter(Boolean);
  const noun = minLength === 1 ? 'a string that is not empty' : 'a string';
  return rules.length > 0 ? `${noun}, ${rules.join(', ')}` : noun;
};

const items = (schema: JsonSchema): string => {
  const { items: item, minItems, maxItems, uniqueItems } = schema;
  const rules = [
    minItems !== undefined && `of at least ${minItems}`,
    maxItems !== undefined && `of at most ${maxItems}`,
    uniqueItems === true && 'without repetitions',
  ].filter(Boolean);
  const each = typeof item === 'object' && item !== null ? `, each ${describeSchema(item as JsonSchema)}` : '';
  return `a list${rules.length > 0 ? ` ${rules.join(' ')}` : ''}${each}`;
};

const object = ({ required }: JsonSchema): string =>
  Array.isArray(required) && required.length > 0
    ? `an object with ${required.map((name) => `"${name}"`).join(', ')}`
    : 'an object';

const byType: Record<string, (schema: JsonSchema) => string> = {
  null: () => 'null',
  boolean: () => 'true or false',
  integer: (schema) => `a whole number${range(schema)}`,
  number: (schema) => `a number${range(schema)}`,
  string: text,
  array: items,
  object,
};

/** Returns text that follows "must be" in an error message, such as a list of allowed values. */
export const describeSchema = (schema: JsonSchema): string => {
  const { enum: values, const: only, type, anyOf, oneOf } = schema;
  if (Array.isArray(values)) return list(values.map((value) => JSON.stringify(value)));
  if (only !== undefined) return JSON.stringify(only);
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) return list(alternatives.map(describeSchema));
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string');
  return types.length > 0 ? list(types.map((name) => byType[name]?.(schema) ?? name)) : 'another value';
};

export const exampleOf = ({ examples, example }: JsonSchema): string => {
  const shown = Array.isArray(examples) ? examples[0] : example;
  return shown === undefined ? '' : `, for example ${JSON.stringify(shown)}`;
};
