import type { JsonSchema } from '../contracts/json-schema.js';
import type { Parameter, Route } from '../contracts/plugin.js';
import type { Operator } from '../contracts/storage.js';
import { operatorSchemas } from '../data/conditions.js';
import { pascalCase } from './typescript.js';

type Reference = (schema: JsonSchema) => unknown;

export const parametersOf = (
  { parameters: { path = {}, query = {}, filters = {} } = {} }: Route,
  reference: Reference,
) => {
  const inPath = Object.entries(path).map(([name, declared]) => parameter('path', name, declared));
  const inQuery = Object.entries(query).map(([name, declared]) => parameter('query', name, declared));
  const bracketed = Object.entries(filters).map(([name, value]) => {
    const same = inQuery.find((other) => other.name === name);
    return filterParameter(name, value, same, reference);
  });
  return [...inPath, ...bracketed, ...inQuery.filter(({ name }) => !Object.hasOwn(filters, name))];
};

const parameter = (place: 'path' | 'query', name: string, { description, schema, required, example }: Parameter) => ({
  name,
  in: place,
  description,
  required: place === 'path' || (required ?? false),
  ...(schema['type'] === 'array' && { style: 'form', explode: false }),
  schema: { ...withSafeRange(withoutDescription(schema)), ...(schema['type'] === 'array' && { minItems: 1 }) },
  ...(example === undefined ? {} : { example }),
});

const filterParameter = (
  name: string,
  value: JsonSchema,
  same: ReturnType<typeof parameter> | undefined,
  reference: Reference,
) => ({
  name,
  in: 'query',
  description: same
    ? `${same.description} With an operator in brackets, filters by \`${name}\`.`
    : `Filters by \`${name}\`.`,
  required: same?.required ?? false,
  style: 'deepObject',
  explode: true,
  schema: { anyOf: [reference(filterSchema(value)), same?.schema ?? withSafeRange(value)] },
  ...(same?.example !== undefined && { example: same.example }),
});

const OPERATORS: Readonly<Record<Operator, string>> = {
  eq: 'Equal to this value.',
  not: 'Any other value, including null.',
  in: 'Equal to one of these comma-separated values. Enclose values that contain a comma in double quotes.',
  gt: 'Greater than this value.',
  gte: 'Greater than or equal to this value.',
  lt: 'Less than this value.',
  lte: 'Less than or equal to this value.',
  null: 'true matches null, false matches any other value.',
};

/**
 * Patterns for one item of the operator `in`. The list is described as a string, because OpenAPI has no style for a
 * list inside `deepObject`. The number of digits is limited, because larger numbers might overflow.
 */
const LISTED: Readonly<Record<string, string>> = {
  integer: '-?(0|[1-9]\\d{0,14})',
  number: '-?(0|[1-9]\\d{0,99})(\\.\\d+)?([eE][+-]?\\d{1,2})?',
  string: '("([^"]|"")*"|([^\\s",][^,]*)?)',
};

const listText = (type: string): JsonSchema => {
  const one = `\\s*${LISTED[type]}\\s*`;
  return { type: 'string', pattern: `^${one}(,${one})*$` };
};

const filterSchema = (value: JsonSchema): JsonSchema => {
  const { type, format, ...limits } = value as { readonly type: string; readonly format?: string };
  const properties = Object.entries(operatorSchemas(value)).map(([operator, schema]) => [
    operator,
    { ...(operator === 'in' ? listText(type) : withSafeRange(schema)), description: OPERATORS[operator as Operator] },
  ]);
  return {
    ...(Object.keys(limits).length === 0 && { title: `${pascalCase(format ?? type)}Filter` }),
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  };
};

/** The service rejects integers that a JavaScript number cannot represent exactly. */
const withSafeRange = (schema: JsonSchema): JsonSchema => {
  const { type, items, enum: values } = schema;
  if (type === 'array') return { ...schema, items: withSafeRange(items as JsonSchema) };
  if (type !== 'integer' || values) return schema;
  return { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...schema };
};

const withoutDescription = ({ description: _, ...schema }: JsonSchema): JsonSchema => schema;
