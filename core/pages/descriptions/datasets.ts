/** A dataset is an endpoint of the API that returns a list and requires no parameters. */
import type { JsonSchema } from '../../contracts/json-schema.js';
import type { MountContext } from '../../contracts/plugin.js';

export interface Column {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly type: 'string' | 'date' | 'datetime' | 'integer' | 'number' | 'boolean' | 'json';
  readonly unit: string | undefined;
  readonly values: readonly unknown[];
  readonly isRequired: boolean;
}

interface Distribution {
  readonly format: string;
  readonly mediaType: string;
  readonly url: string;
}

export interface Dataset {
  /** Name for use in programs, such as `forecast_runs`. It is derived from the path. */
  readonly name: string;
  readonly path: string;
  readonly operationId: string;
  readonly title: string;
  readonly description: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  readonly isOpen: boolean;
  readonly distributions: readonly Distribution[];
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
type Json = any;

const KINDS: Readonly<Record<string, Column['type']>> = {
  string: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
};

const words = (name: string): string => {
  const spaced = name.replaceAll(/[_-]/g, ' ');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
};

const typeOf = ({ type, format }: JsonSchema): Column['type'] => {
  const types = [type].flat().filter((one) => one !== 'null');
  if (types.length !== 1) return 'json';
  if (types[0] === 'string' && format === 'date') return 'date';
  if (types[0] === 'string' && format === 'date-time') return 'datetime';
  return KINDS[String(types[0])] ?? 'json';
};

const columnOf = (name: string, schema: Json, isRequired: boolean): Column => ({
  name,
  title: schema.title ?? words(name),
  description: schema.description ?? '',
  type: typeOf(schema),
  unit: schema['x-unit'],
  values: (schema.enum ?? []).filter((value: unknown) => value !== null),
  isRequired: isRequired && typeof schema.type === 'string',
});

const datasetOf = (document: Json, path: string, get: Json): Dataset | undefined => {
  const content = get.responses[200].content;
  // Totals are not datasets, because the API computes totals from the rows of a table.
  const isList = content['text/csv'] !== undefined && !path.includes('{') && !path.startsWith('/totals/');
  if (!isList || get.parameters?.some(({ required }: Json) => required)) return undefined;
  const { items } = content['application/json'].schema.properties.data;
  const row = items.$ref ? document.components.schemas[items.$ref.split('/').at(-1)] : items;
  const single = Object.keys(document.paths).find((other) => other.startsWith(`${path}/{`) && !/\}\/[^{]/.test(other));
  const key = [...(single ?? '').matchAll(/\{([^}]+)\}/g)].map(([, name]) => name!);
  const base = document.servers[0].url;
  // The schema also contains columns that the API returns only on request. The CSV example has the default columns.
  const served = new Set(content['text/csv'].example.split(/\r?\n/, 1)[0].split(','));
  return {
    name: path.slice(1).replaceAll(/[^A-Za-z0-9]+/g, '_'),
    path,
    operationId: get.operationId,
    title: get.summary,
    description: get.description,
    columns: Object.entries<Json>(row.properties)
      .filter(([name]) => served.has(name))
      .map(([name, schema]) => columnOf(name, schema, row.required?.includes(name) ?? false)),
    key: key.every((name) => Object.hasOwn(row.properties, name)) ? key : [],
    isOpen:
      (get.security ?? document.security).some((one: object) => Object.keys(one).length === 0) ||
      get.security?.length === 0,
    distributions: distributionsOf(get, `${base}${path}`),
  };
};

/**
 * Returns the URL and the media type for each value of the parameter `format`. The values have the same order as the
 * media types of the response. The schema lists the values in `enum`, or in one branch of `anyOf` if a column is also
 * named `format`.
 */
const distributionsOf = ({ parameters, responses }: Json, url: string): Distribution[] => {
  const mediaTypes = Object.keys(responses[200].content);
  const { schema } = parameters.find(({ name }: Json) => name === 'format');
  const formats: readonly string[] = schema.enum ?? schema.anyOf.find((one: Json) => one.enum).enum;
  const all = formats.map((format, i) => ({
    format,
    mediaType: mediaTypes[i]!,
    url: format === 'json' ? url : `${url}?format=${format}`,
  }));
  return all.sort((a, b) => Number(b.format === 'csv') - Number(a.format === 'csv'));
};

export interface Catalog {
  readonly datasets: readonly Dataset[];
  readonly document: Json;
}

/** @throws Error if the OpenAPI document cannot be read */
export const readCatalog = async ({ requestWithoutKey, publicUrl, basePath }: MountContext): Promise<Catalog> => {
  const document = JSON.parse((await requestWithoutKey('/openapi.json')).body);
  // The document comes from an internal request, so its server URL lacks the path prefix that a proxy adds.
  document.servers[0].url = `${publicUrl}${basePath}`;
  const datasets = Object.entries<Json>(document.paths).flatMap(([path, { get }]) => {
    const dataset = datasetOf(document, path, get);
    return dataset ? [dataset] : [];
  });
  return { datasets, document };
};
