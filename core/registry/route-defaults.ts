/** What the framework adds to routes: defaults, the columns of lists, and parameters that handlers do not see. */
import type { Column, Format } from '../contracts/format.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Parameter, ResponseHeader, Route } from '../contracts/plugin.js';

export const needsKey = (route: Route): boolean => route.key ?? true;

/** Whether requests to the route count against the caller's limit. */
export const isLimited = (route: Route): boolean => route.kind === 'data' || (route.limited ?? true);

/** Whether shared caches may store the response of the route. */
export const isShared = (route: Route): boolean => route.kind === 'service' && route.sharedSeconds !== undefined;

/**
 * Returns the columns of a data route whose response is `{data: [...]}` with a list of objects and no other property.
 * Undefined for all other routes.
 */
export const listColumns = (route: Route): readonly string[] | undefined => {
  const columns = Object.keys(propertiesOf(rowSchema(route)) ?? {});
  return columns.length > 0 ? columns : undefined;
};

const rowSchema = ({ kind, response }: Route): unknown => {
  if (kind !== 'data') return undefined;
  const list = propertiesOf(response?.schema);
  const isList = list && Object.keys(list).join() === 'data' && list['data']?.['type'] === 'array';
  return isList ? list['data']!['items'] : undefined;
};

const SCALARS: readonly Column['type'][] = ['string', 'date', 'date-time', 'integer', 'number', 'boolean'];

/** Returns the columns of a list with their types, in the order of `listColumns`. */
export const typedColumns = (route: Route): readonly Column[] => {
  const known = columnsByRoute.get(route);
  if (known) return known;
  const row = rowSchema(route) as { readonly required?: readonly string[] } | undefined;
  const columns = Object.entries(propertiesOf(row) ?? {}).map(([name, schema]): Column => {
    const types = [schema['type']].flat();
    const [scalar, ...others] = types.filter((type) => type !== 'null');
    const named = scalar === 'string' && /^date(-time)?$/.test(String(schema['format'])) ? schema['format'] : scalar;
    const type = (others.length === 0 && SCALARS.find((known) => known === named)) || 'json';
    const isNullable = scalar === undefined || types.length > 1 + others.length;
    return { name, type, optional: isNullable || !row?.required?.includes(name) };
  });
  columnsByRoute.set(route, columns);
  return columns;
};

/** A table can have thousands of columns, so they are derived from the schema only once. */
const columnsByRoute = new WeakMap<Route, readonly Column[]>();

/** Returns the properties of a schema that allows only objects. */
const propertiesOf = (schema: unknown): Readonly<Record<string, JsonSchema>> | undefined => {
  const { type, properties } = (schema ?? {}) as JsonSchema;
  return type === 'object' ? (properties as Readonly<Record<string, JsonSchema>> | undefined) : undefined;
};

/** Returns the headers that a route declares. */
export const declaredHeaders = (route: Route): Readonly<Record<string, ResponseHeader>> =>
  (route.kind === 'data' && route.response?.headers) || {};

/**
 * Returns the formats in which a route is available: all of them for a list, otherwise only JSON.
 * @param formats all formats, of which JSON is the first
 */
export const formatsOf = (route: Route, formats: readonly Format[]): readonly Format[] =>
  listColumns(route) ? formats : formats.slice(0, 1);

export const FORMAT = 'format';
export const AS_OF = 'as_of';

const format = (formats: readonly Format[]): Parameter => ({
  description: 'The format of the response. It overrides the header `Accept`. Default: JSON.',
  schema: { type: 'string', enum: formats.map(({ name }) => name) },
  example: 'json',
});

const asOf: Parameter = {
  description:
    'Uses the snapshot that was current at the end of this day in UTC, instead of the newest one. ' +
    'The response is a 404 if the store no longer has that snapshot, or stores no earlier snapshots.',
  schema: { type: 'string', format: 'date' },
  example: '2026-06-30',
};

/** Returns the parameters that the framework adds to a route, by name. */
export const frameworkParameters = (
  route: Route,
  formats: readonly Format[] = [],
): Readonly<Record<string, Parameter>> => ({
  ...(listColumns(route) ? { [FORMAT]: format(formats) } : {}),
  ...(route.kind === 'data' && route.vintages ? { [AS_OF]: asOf } : {}),
});

/** Returns the route as it is served and documented, including the framework's parameters. */
export const withFrameworkParameters = (route: Route, formats: readonly Format[]): Route => {
  const added = frameworkParameters(route, formats);
  if (Object.keys(added).length === 0) return route;
  return { ...route, parameters: { ...route.parameters, query: { ...route.parameters?.query, ...added } } };
};
