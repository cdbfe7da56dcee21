/** Says in words what a JSON Schema allows. */
import type { JsonSchema } from '../contracts/json-schema.js';

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

/** Describes the allowed values, to follow "it must be" in a message. */
export const describeSchema = (schema: JsonSchema): string => {
  const { enum: values, const: only, type, anyOf, oneOf } = schema;
  if (Array.isArray(values)) return list(values.map((value) => JSON.stringify(value)));
  if (only !== undefined) return JSON.stringify(only);
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) return list(alternatives.map(describeSchema));
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string');
  return types.length > 0 ? list(types.map((name) => byType[name]?.(schema) ?? name)) : 'another value';
};

/** `, for example X` if the schema has an example. */
export const exampleOf = ({ examples, example }: JsonSchema): string => {
  const shown = Array.isArray(examples) ? examples[0] : example;
  return shown === undefined ? '' : `, for example ${JSON.stringify(shown)}`;
};
