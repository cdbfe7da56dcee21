import type { Tier, Tiers } from '../config/tiers.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Column, Format, Route, Row } from '../contracts/plugin.js';
import type { InterfaceChange, ServiceInfo } from '../contracts/service.js';
import { commonNames, type HeaderName, limitNames, responseHeaders } from '../header-table.js';
import { includes } from '../pipeline/authorize.js';
import { essenceOf } from '../registry/collect-formats.js';
import type { RegisteredRoute, Registry } from '../registry/register-plugins.js';
import { declaredHeaders, formatsOf, isLimited, isShared, needsKey, typedColumns } from '../registry/route-defaults.js';
import { READ_METHODS } from '../response/headers.js';
import { parametersOf } from './parameters.js';
import { errorResponses, errorSchema, headerReferences } from './responses.js';

/** OpenAPI allows only these characters in the name of a component. */
const componentName = (name: string): string => name.replaceAll(/[^\w.-]/g, '_');

type SecuritySchemes = Readonly<Record<string, object>>;

const securitySchemesOf = (plugins: Registry['plugins']): SecuritySchemes => {
  const own = plugins.flatMap(({ plugin: { name, identity, securityScheme } }) =>
    identity && securityScheme ? [[componentName(name), securityScheme]] : [],
  );
  const isUndescribed = plugins.some(({ plugin: { identity, securityScheme } }) => identity && !securityScheme);
  const others = isUndescribed ? ' The service also accepts other credentials.' : '';
  return {
    ApiKey: {
      type: 'http',
      scheme: 'bearer',
      description: `An opaque API key, sent as \`Authorization: Bearer <API_KEY>\`.${others}`,
    },
    ...Object.fromEntries(own),
  };
};

export const openApiDocument = async (
  { routes, mounts, plugins, info, formats }: Pick<Registry, 'routes' | 'mounts' | 'plugins' | 'info' | 'formats'>,
  basePath: string,
  tiers?: Tiers,
  publicUrl = '',
): Promise<Record<string, unknown>> => {
  const schemas = new ComponentSchemas();
  const failures = errorResponses(tiers);
  schemas.reference(errorSchema);
  const all = routes.map(({ route }) => route);
  const securitySchemes = securitySchemesOf(plugins);
  // A request needs only one of these credentials.
  const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));
  const paths: Record<string, { readonly get: object }> = {};
  for (const registered of routes) {
    const content = await contentOfList(registered.route, formats);
    const own = securityOf(registered, security, tiers?.anonymous);
    paths[registered.route.path] = { get: operation(registered, content, all, schemas, failures, own) };
  }
  const used = new Set(routes.map(({ plugin }) => plugin.name));
  return {
    openapi: '3.1.0',
    info: infoOf(info, new Set(all.map(({ operationId }) => operationId))),
    servers: [{ url: `${publicUrl}${basePath}`, description: 'This service' }],
    security,
    tags: plugins
      .filter(({ plugin }) => used.has(plugin.name))
      .map(({ plugin: { name, description } }) => ({ name, description })),
    paths,
    // Mounts serve pages and other protocols, which OpenAPI cannot describe.
    'x-mounts': mounts.map(({ mount: { path, summary, methods = READ_METHODS, key = false } }) => ({
      path,
      summary,
      methods,
      key,
    })),
    components: {
      securitySchemes,
      schemas: schemas.all(),
      headers: responseHeaders,
      responses: failures.components,
    },
  };
};

const infoOf = (
  { title, version, summary, description, conventions, changes, license, contact, termsOfService }: ServiceInfo,
  served: ReadonlySet<string>,
) => ({
  title,
  version,
  ...(summary !== '' && { summary }),
  description: [description, conventions].filter((text) => text !== '').join('\n\n'),
  ...(license && { license }),
  contact,
  ...(termsOfService !== null && { termsOfService }),
  ...(changes.length > 0 && { 'x-changes': changes.flatMap((change) => servedChange(change, served)) }),
});

const servedChange = ({ operations, ...change }: InterfaceChange, served: ReadonlySet<string>): InterfaceChange[] => {
  if (!operations) return [change];
  const known = operations.filter((operation) => served.has(operation));
  return known.length === 0 ? [] : [{ ...change, operations: known }];
};

const operation = (
  { route, plugin }: RegisteredRoute,
  listContent: object,
  routes: readonly Route[],
  schemas: ComponentSchemas,
  failures: ReturnType<typeof errorResponses>,
  security: object,
) => {
  const parameters = parametersOf(route, (schema) => schemas.reference(schema));
  const headers = { ...headerReferences(successHeaders(route)), ...ownHeaders(route) };
  const links = linksFrom(route, routes);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.description ?? route.summary,
    tags: [plugin.name],
    ...security,
    ...(parameters.length > 0 ? { parameters } : {}),
    responses: {
      200: {
        description: route.response.description,
        headers,
        content: {
          'application/json': {
            schema: schemas.reference(route.response.schema),
            example: route.response.example,
          },
          ...listContent,
        },
        ...(Object.keys(links).length > 0 ? { links } : {}),
      },
      304: { description: "Not modified: the client's stored copy is current.", headers },
      ...failures.of(route),
    },
  };
};

const securityOf = (
  { route, plugin: { name } }: RegisteredRoute,
  security: readonly object[],
  anonymous: Tier | undefined,
) => {
  if (!needsKey(route)) return { security: [] };
  // In OpenAPI, an empty security requirement makes the key optional.
  return anonymous && includes(anonymous, [name, route.path]) ? { security: [...security, {}] } : {};
};

const contentOfList = async (route: Route, formats: readonly Format[]) => {
  const [, ...others] = formatsOf(route, formats);
  if (others.length === 0) return {};
  const { data } = route.response.example as { readonly data: readonly Row[] };
  const [row = {}] = data;
  // If callers can choose the columns, the CSV example contains only the columns of the JSON example.
  const isChosen = route.kind === 'data' && route.columns !== undefined;
  const columns = typedColumns(route).filter(({ name }) => !isChosen || Object.hasOwn(row, name));
  return Object.fromEntries(
    await Promise.all(
      others.map(async (format) => {
        const { description, mediaTypes } = format;
        const example = format.isCompressed ? undefined : await textIn(format, data, columns);
        const content =
          example === undefined ? { schema: { description } } : { schema: { type: 'string', description }, example };
        return [essenceOf(mediaTypes[0]!), content];
      }),
    ),
  );
};

/**
 * Returns undefined for a binary format, or if the example cannot be written. The OpenAPI document still describes the
 * other formats.
 */
const textIn = async (
  format: Format,
  rows: readonly Row[],
  columns: readonly Column[],
): Promise<string | undefined> => {
  async function* batches() {
    if (rows.length > 0) yield rows;
  }
  let text = '';
  try {
    for await (const piece of format.write(batches(), columns)) {
      if (typeof piece !== 'string') return undefined;
      text += piece;
    }
    return text;
  } catch {
    return undefined;
  }
};

const ownHeaders = (route: Route) =>
  Object.fromEntries(
    Object.entries(declaredHeaders(route)).map(([name, { description, example }]) => [
      name,
      { description, schema: { type: 'string' }, example },
    ]),
  );

const successHeaders = (route: Route): HeaderName[] => [
  'ETag',
  'Last-Modified',
  'Cache-Control',
  'Vary',
  ...commonNames,
  ...(route.kind === 'data' ? (['Snapshot-Version'] as const) : []),
  ...(isShared(route) ? (['Age'] as const) : []),
  ...(isLimited(route) && !isShared(route) ? limitNames : []),
];

/** Schema keywords whose values are data. A "title" inside the data is not the title of a schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);
/** Schema keywords whose values map names to schemas. A name can be the same as a keyword. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs']);

/**
 * Turns object schemas with a title into components, so that generated clients have named types. In other schemas, a
 * title is only a label.
 */
class ComponentSchemas {
  readonly #components = new Map<string, { text: string; resolved: unknown }>();

  reference(schema: JsonSchema): unknown {
    const resolved = Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#resolve(keyword, value)]),
    );
    const title = schema['title'];
    if (typeof title !== 'string' || schema['type'] !== 'object') return resolved;
    const text = JSON.stringify(schema);
    const name = this.#nameFor(title, text);
    this.#components.set(name, { text, resolved });
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Plugins of different authors can use the same title for different schemas. The later names get a number. */
  #nameFor(title: string, text: string): string {
    const first = componentName(title);
    let name = first;
    for (let number = 2; (this.#components.get(name)?.text ?? text) !== text; number++) name = `${first}_${number}`;
    return name;
  }

  all(): Record<string, unknown> {
    return Object.fromEntries([...this.#components].sort().map(([name, { resolved }]) => [name, resolved]));
  }

  #resolve(keyword: string, value: unknown): unknown {
    if (DATA.has(keyword)) return value;
    if (!NAMED.has(keyword)) return this.#within(value);
    return Object.fromEntries(Object.entries(value as object).map(([name, schema]) => [name, this.#within(schema)]));
  }

  #within(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#within(item));
    if (typeof value === 'object' && value !== null) return this.reference(value as JsonSchema);
    return value;
  }
}

/** Returns links to all routes whose required parameters the response contains (OpenAPI 3.1, 4.8.20). */
const linksFrom = (source: Route, routes: readonly Route[]): Record<string, object> =>
  Object.fromEntries(
    routes.flatMap((route) => {
      const parameters = foundParameters(source, route);
      if (route.operationId === source.operationId || !parameters) return [];
      const { operationId, summary } = route;
      return [[operationId, { operationId, description: summary, parameters }]];
    }),
  );

const foundParameters = ({ operationId }: Route, { parameters }: Route): Record<string, string> | undefined => {
  const found: Record<string, string> = {};
  for (const place of ['path', 'query'] as const) {
    for (const [name, { foundIn = {}, required }] of Object.entries(parameters?.[place] ?? {})) {
      if (Object.hasOwn(foundIn, operationId)) found[name] = `$response.body#${foundIn[operationId]}`;
      else if (place === 'path' || required) return undefined;
    }
  }
  return Object.keys(found).length > 0 ? found : undefined;
};
