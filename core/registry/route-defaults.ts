import type { Column, Format } from '../contracts/format.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Parameter, ResponseHeader, Route } from '../contracts/plugin.js';

export const needsKey = (route: Route): boolean => route.key ?? true;

export const isLimited = (route: Route): boolean => route.kind === 'data' || (route.limited ?? true);

export const isShared = (route: Route): boolean => route.kind === 'service' && route.sharedSeconds !== undefined;

/** A list is a response whose only property is `data`, an array of objects. */
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

/** Columns are computed once per route, because a table can have thousands of columns. */
const columnsByRoute = new WeakMap<Route, readonly Column[]>();

/** Returns undefined if the schema allows anything but objects. */
const propertiesOf = (schema: unknown): Readonly<Record<string, JsonSchema>> | undefined => {
  const { type, properties } = (schema ?? {}) as JsonSchema;
  return type === 'object' ? (properties as Readonly<Record<string, JsonSchema>> | undefined) : undefined;
};

export const declaredHeaders = (route: Route): Readonly<Record<string, ResponseHeader>> =>
  (route.kind === 'data' && route.response?.headers) || {};

export const formatsOf = (route: Route, formats: readonly Format[]): readonly Format[] =>
  listColumns(route) ? formats : formats.slice(0, 1);

export const FORMAT = 'format';
export const AS_OF = 'as_of';

const format = (formats: readonly Format[]): Parameter => ({
  description: 'The response format. Overrides the header `Accept`. Default: JSON.',
  schema: { type: 'string', enum: formats.map(({ name }) => name) },
  example: 'json',
});

const asOf: Parameter = {
  description:
    'Selects the snapshot that was current at the end of this day (UTC) instead of the newest one. ' +
    'Returns a 404 if the store no longer has that snapshot or keeps only the newest one.',
  schema: { type: 'string', format: 'date' },
  example: '2026-06-30',
};

export const frameworkParameters = (
  route: Route,
  formats: readonly Format[] = [],
): Readonly<Record<string, Parameter>> => ({
  ...(listColumns(route) ? { [FORMAT]: format(formats) } : {}),
  ...(route.kind === 'data' && route.vintages ? { [AS_OF]: asOf } : {}),
});

export const withFrameworkParameters = (route: Route, formats: readonly Format[]): Route => {
  const added = frameworkParameters(route, formats);
  if (Object.keys(added).length === 0) return route;
  return { ...route, parameters: { ...route.parameters, query: { ...route.parameters?.query, ...added } } };
};
