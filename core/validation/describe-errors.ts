/** Turns schema errors into sentences for operators: the path, the value, what is allowed, the nearest right name. */
import type { JsonSchema } from '../contracts/json-schema.js';
import { compileSchema, type ErrorObject } from './compile-schema.js';
import { describeSchema, exampleOf } from './describe-schema.js';
import { nearest } from './nearest.js';
import { formatPath, isWithin, type Path, pointerPath } from './path.js';
import { holdsSecret, maskUrlPasswords } from './secrets.js';

/** A value that did not come from the file. */
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

/** What to do about a name that is not among the right ones. */
export const suggest = (name: string, names: readonly string[]): string => {
  const near = nearest(name, names);
  if (near !== undefined) return `did you mean "${near}"?`;
  return names.length > 0 ? `there are ${names.map((each) => `"${each}"`).join(', ')}` : 'there are none here';
};

/**
 * Drops what only says that something inside is wrong. Of `anyOf` and `oneOf`, keeps what went wrong deeper inside, or
 * else the alternatives as a whole.
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

/** Where alternatives differ only in the settings that they require: `exactly one of "a" and "b"`. */
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

const sentence = (error: ErrorObject): { path: Path; text: string } => {
  const schema = error.parentSchema as JsonSchema;
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    const name: string = error.params['additionalProperty'] ?? error.params['unevaluatedProperty'];
    const names = Object.keys((schema['properties'] as object | undefined) ?? {}).filter((each) => each !== '$schema');
    return { path: [name], text: `there is no such setting; ${suggest(name, names)}` };
  }
  if (error.keyword === 'required') {
    const name: string = error.params['missingProperty'];
    const missing = (schema['properties'] as Record<string, JsonSchema> | undefined)?.[name];
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
      text: `items ${first} and ${second} are the same; each may be there once`,
    };
  }
  const choice = requiredChoice(error);
  if (choice)
    return { path: [], text: `there must be ${choice}${error.params['passingSchemas'] ? '' : byVariable(schema)}` };
  const allowed = describeSchema(schema);
  if (allowed === 'another value') return { path: [], text: `${shown} is not allowed; it ${error.message}` };
  return { path: [], text: `${shown} is not allowed; it must be ${allowed}${exampleOf(schema)}` };
};

/** How a fault names its place: with the variable that gave the value, where one did. */
export const placeOf = (path: string, overrides: readonly Override[]): string => {
  const from = overrides.find((override) => isWithin(path, override.path));
  return `${path || 'the whole'}${from ? ` (from ${from.variable})` : ''}`;
};

/**
 * One line for each fault, in the order of the schema's keywords, several faults of one value as one.
 * @param root the path that the checked value stands at; empty for a whole file
 * @param overrides values that did not come from the file; their faults name the variable
 */
export const describeErrors = (
  errors: readonly ErrorObject[],
  value: unknown,
  root = '',
  overrides: readonly Override[] = [],
): string[] => {
  const lines = withoutEchoes(errors).map((error) => {
    const { path, text } = sentence(error);
    const full = formatPath([...pointerPath(error.instancePath, value), ...path], root);
    return `${placeOf(full, overrides)}: ${text}`;
  });
  return [...new Set(lines)];
};

/**
 * Checks a module's options, and fills in the defaults that its schema gives, in place.
 * @param path where the options stand: `adapter.options`
 * @param schema the module's own schema
 * @returns one line for each fault; none when all is well
 */
export const checkOptions = (
  path: string,
  schema: JsonSchema,
  value: unknown,
  overrides: readonly Override[] = [],
): string[] => {
  let validate: ReturnType<typeof compileSchema>;
  try {
    validate = compileSchema(schema, { useDefaults: true });
  } catch (cause) {
    return [`${path}: cannot be checked, the module's own schema of its options is wrong: ${(cause as Error).message}`];
  }
  return validate(value) ? [] : describeErrors(validate.errors!, value, path, overrides);
};
