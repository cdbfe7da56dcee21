import type { JsonSchema } from '../contracts/json-schema.js';
import type { Parameter, Route } from '../contracts/plugin.js';
import { isFrameworkHeader } from '../header-table.js';
import { assertSchema, compileSchema } from '../validation/compile-schema.js';
import { isObject } from '../validation/json.js';
import { pointerPath, valueAt } from '../validation/path.js';
import { type Members, memberErrors } from './check-members.js';
import { declaredHeaders, frameworkParameters, isShared, listColumns } from './route-defaults.js';

/** Returns errors in the links of a route. Links to operations that the service does not have are ignored. */
export const linkErrors = (route: Route, routes: readonly Route[]): string[] =>
  Object.entries({ ...route.parameters?.path, ...route.parameters?.query }).flatMap(([name, parameter]) =>
    Object.entries(parameter.foundIn ?? {}).flatMap(([operationId, pointer]) => {
      const source = routes.find((other) => other.operationId === operationId);
      const error = source && pointerError(pointer, parameter, source);
      return error ? [`route ${route.path}: parameter "${name}": foundIn.${operationId}: ${error}`] : [];
    }),
  );

const pointerError = (pointer: string, { schema }: Parameter, { response }: Route): string | undefined => {
  if (!pointer.startsWith('/')) return `"${pointer}" must be a JSON Pointer, such as /data/0/id`;
  const value = valueAt(response?.example, pointerPath(pointer, response?.example));
  if (value === undefined) return `the example of its response has nothing at ${pointer}`;
  if (!compileSchema(schema)(schema['type'] === 'array' ? [value] : value))
    return `${JSON.stringify(value)} at ${pointer} does not conform to the parameter's schema`;
  return undefined;
};

const TEMPLATE = /^(\/([A-Za-z0-9._-]+|\{[a-z][a-z0-9_]*\}))+$/;
const TYPES = ['string', 'integer', 'number', 'boolean'];

const ROUTE: Members = {
  kind: 'string',
  path: 'string',
  operationId: 'string',
  summary: 'string',
  handler: 'function',
  description: 'string?',
  key: 'boolean?',
  vintages: 'boolean?',
  columns: 'function?',
  normalize: 'function?',
  normalizeIn: 'function?',
  sharedSeconds: 'number?',
  limited: 'boolean?',
  parameters: 'object?',
  response: 'object',
  errors: 'list?',
  check: 'function?',
};
const PARAMETERS: Members = { path: 'object?', query: 'object?', filters: 'object?' };
const PARAMETER: Members = {
  description: 'string',
  schema: 'object',
  required: 'boolean?',
  allowed: 'string?',
  foundIn: 'object?',
};
const ERROR: Members = { code: 'string', status: 'number', sentence: 'string', when: 'string' };
const RESPONSE: Members = { description: 'string', schema: 'object', headers: 'object?' };
const HEADER: Members = { description: 'string', example: 'string' };

export const templateParameters = (path: string): string[] => [...path.matchAll(/\{([^}]+)\}/g)].map((m) => m[1]!);

export const templateShape = (path: string): string => path.replace(/\{[^}]+\}/g, '{}');

export const routeErrors = (route: Route): string[] => {
  const errors: string[] = [];
  const report = (text: string) => errors.push(`route ${String(route.path)}: ${text}`);
  const members = (given: object, wanted: Members, at = '') => {
    const found = memberErrors(given as Readonly<Record<string, unknown>>, wanted);
    for (const each of found) report(`${at}${each}`);
    return found.length === 0;
  };
  if (typeof route.path !== 'string' || !TEMPLATE.test(route.path)) {
    report('path must look like /things/{thing_id}');
    return errors;
  }
  if (route.kind !== 'data' && route.kind !== 'service') report('kind must be "data" or "service"');
  members(route, ROUTE);
  if (!members(route.parameters ?? {}, PARAMETERS, 'parameters: ')) return errors;
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(route.operationId ?? '')) report('operationId must be an identifier');
  if (!route.summary) report('summary is missing');

  const provided = frameworkParameters(route);
  const inPath = templateParameters(route.path);
  const declared = Object.keys(route.parameters?.path ?? {});
  for (const name of inPath) if (!declared.includes(name)) report(`path parameter "${name}" is not declared`);
  for (const name of declared) if (!inPath.includes(name)) report(`path parameter "${name}" is not in the path`);
  for (const name of declared) {
    if (Object.hasOwn(route.parameters?.query ?? {}, name))
      report(`parameter "${name}" is in the path and in the query`);
  }
  for (const [name, parameter] of Object.entries({ ...route.parameters?.path, ...route.parameters?.query })) {
    if (!isObject(parameter)) report(`parameter "${name}" must be an object`);
    if (!isObject(parameter) || !members(parameter, PARAMETER, `parameter "${name}": `)) continue;
    for (const problem of parameterErrors(parameter)) report(`parameter "${name}": ${problem}`);
    if (Object.hasOwn(provided, name)) report(`parameter "${name}" is added by the framework`);
  }
  for (const [name, schema] of Object.entries(route.parameters?.filters ?? {})) {
    const problem = isObject(schema) ? (typeError(schema, TYPES) ?? compileError(schema)) : 'must be a schema';
    if (problem) report(`filter "${name}": ${problem}`);
  }
  if (isObject(route.response) && members(route.response, RESPONSE, 'response: ')) {
    for (const problem of responseErrors(route.response)) report(problem);
  }
  for (const [name, header] of Object.entries(declaredHeaders(route))) {
    const at = `response header "${name}"`;
    if (!/^[A-Za-z][A-Za-z0-9-]*$/.test(name)) report(`${at} must be a name like Link`);
    else if (isFrameworkHeader(name)) report(`${at} is set by the framework`);
    members(header ?? {}, HEADER, `${at}: `);
  }
  if (route.kind === 'data' && route.columns && !listColumns(route)) {
    report('columns needs a list: the response must be {data: [...]} of objects, with no other property');
  }
  if (isShared(route) && Object.values(route.parameters ?? {}).some((each) => Object.keys(each ?? {}).length > 0)) {
    report('sharedSeconds needs a route without parameters, because all callers share one response');
  }
  for (const kind of Array.isArray(route.errors) ? route.errors : []) {
    if (!members(kind ?? {}, ERROR, 'errors: ')) continue;
    if (kind.status < 400 || kind.status > 499) report(`error "${kind.code}" must have a 4xx status`);
  }
  return errors;
};

const parameterErrors = ({ schema, description, example }: Parameter): string[] => {
  if (!description) return ['description is missing'];
  const { type, items } = schema;
  const problem =
    typeError(schema, [...TYPES, 'array']) ??
    compileError(schema) ??
    (type === 'array' ? typeError((items ?? {}) as JsonSchema, TYPES) : undefined);
  if (problem) return [problem];
  const unfit = example === undefined ? undefined : misfit(schema, example);
  return [...(unfit ? [`example: ${unfit}`] : []), ...sampleErrors(schema, 'schema')];
};

const typeError = ({ type }: JsonSchema, types: readonly string[]): string | undefined =>
  types.includes(type as string) ? undefined : `schema.type must be one of ${types.join(', ')}`;

const responseErrors = ({ schema, example }: Route['response']): string[] => {
  const problem = compileError(schema);
  if (problem) return [`response.schema: ${problem}`];
  const unfit = misfit(schema, example);
  return [...(unfit ? [`response.example: ${unfit}`] : []), ...sampleErrors(schema, 'response.schema')];
};

const compileError = (schema: object): string | undefined => {
  try {
    assertSchema(schema);
    compileSchema(schema);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

const SCHEMA = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const SCHEMAS = ['prefixItems', 'anyOf', 'oneOf', 'allOf'];
const NAMED_SCHEMAS = ['properties', 'patternProperties', '$defs', 'dependentSchemas'];

/** Returns undefined if the value conforms to the schema. The schema must be valid. */
const misfit = (schema: object, value: unknown): string | undefined => {
  const validate = compileSchema(schema);
  if (validate(value)) return undefined;
  const [error] = validate.errors!;
  const extra = error!.params['additionalProperty'] as string | undefined;
  const message = extra === undefined ? error!.message : `must not have the property "${extra}"`;
  const shown = JSON.stringify(value) ?? String(value);
  return `${shown.length > 80 ? `${shown.slice(0, 80)}…` : shown} does not conform to the schema: ${error!.instancePath ? `${error!.instancePath} ` : ''}${message}`;
};

export const sampleErrors = (schema: unknown, at: string): string[] => {
  if (!isObject(schema)) return [];
  const samples = [
    ...['default', 'example'].filter((name) => name in schema).map((name) => [name, schema[name]] as const),
    ...(Array.isArray(schema['examples'])
      ? schema['examples'].map((each, i) => [`examples[${i}]`, each] as const)
      : []),
  ];
  return [
    ...samples.flatMap(([name, value]) => {
      const error = misfit(schema, value);
      return error === undefined ? [] : [`${at}.${name}: ${error}`];
    }),
    ...SCHEMA.flatMap((name) => sampleErrors(schema[name], `${at}.${name}`)),
    ...SCHEMAS.flatMap((name) =>
      Array.isArray(schema[name]) ? schema[name].flatMap((each, i) => sampleErrors(each, `${at}.${name}[${i}]`)) : [],
    ),
    ...NAMED_SCHEMAS.flatMap((name) =>
      Object.entries((schema[name] ?? {}) as object).flatMap(([key, each]) =>
        sampleErrors(each, `${at}.${name}.${key}`),
      ),
    ),
  ];
};
