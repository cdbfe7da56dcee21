/** The OpenAPI 3.1 document, built from the registered routes so that it cannot drift from them. */
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Parameter, Route } from '../contracts/plugin.js';
import type { ServiceInfo } from '../contracts/service.js';
import { csvColumns, csvForm } from '../http/csv.js';
import type { RegisteredRoute, Registry } from '../registry/register-plugins.js';
import { isLimited, isShared, needsKey } from '../registry/route-traits.js';
import { ComponentSchemas } from './component-schemas.js';
import { ErrorResponses, errorSchema } from './error-responses.js';
import { type HeaderName, headerComponents, headerReferences } from './headers.js';
import { linksFrom } from './links.js';

const SECURITY_SCHEME = 'ApiKey';

/** A plain JSON object; equal arguments give equal documents. */
export const openApiDocument = (
  { routes, plugins, service }: Pick<Registry, 'routes' | 'plugins' | 'service'>,
  basePath: string,
): Record<string, unknown> => {
  const schemas = new ComponentSchemas();
  const errorResponses = new ErrorResponses();
  schemas.reference(errorSchema);
  const all = routes.map(({ route }) => route);
  const paths = Object.fromEntries(
    routes.map((registered) => [registered.route.path, { get: operation(registered, all, schemas, errorResponses) }]),
  );
  const used = new Set(routes.map(({ plugin }) => plugin.name));
  return {
    openapi: '3.1.0',
    info: infoOf(service),
    servers: [{ url: basePath, description: 'This service' }],
    security: [{ [SECURITY_SCHEME]: [] }],
    tags: plugins.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        [SECURITY_SCHEME]: {
          type: 'http',
          scheme: 'bearer',
          description: 'An opaque API key, sent as `Authorization: Bearer <API_KEY>`.',
        },
      },
      schemas: schemas.all(),
      headers: headerComponents,
      responses: errorResponses.all(),
    },
  };
};

const infoOf = ({
  title,
  version,
  summary,
  description,
  conventions,
  license,
  contact,
  termsOfService,
}: ServiceInfo) => ({
  title,
  version,
  ...(summary !== '' && { summary }),
  description: [description, conventions].filter((text) => text !== '').join('\n\n'),
  ...(license && { license }),
  contact,
  ...(termsOfService !== null && { termsOfService }),
});

const operation = (
  { route, plugin }: RegisteredRoute,
  routes: readonly Route[],
  schemas: ComponentSchemas,
  errorResponses: ErrorResponses,
) => {
  const parameters = (['path', 'query'] as const).flatMap((place) =>
    Object.entries(route.parameters?.[place] ?? {}).map(([name, declared]) => parameter(place, name, declared)),
  );
  const headers = headerReferences(successHeaders(route));
  const links = linksFrom(route, routes);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.description ?? route.summary,
    tags: [plugin.name],
    ...(needsKey(route) ? {} : { security: [] }),
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
          ...csvContent(route),
        },
        ...(Object.keys(links).length > 0 ? { links } : {}),
      },
      304: { description: 'The copy that the client has is current.', headers },
      ...errorResponses.of(route),
    },
  };
};

/** The same rows, where the route has them. */
const csvContent = (route: Route) => {
  const columns = csvColumns(route);
  if (!columns) return {};
  return {
    'text/csv': {
      schema: { type: 'string', description: `RFC 4180, with the columns ${columns.join(', ')}.` },
      example: csvForm(columns, true).write(route.response.example),
    },
  };
};

const parameter = (place: 'path' | 'query', name: string, { description, schema, required, example }: Parameter) => ({
  name,
  in: place,
  description,
  required: place === 'path' || (required ?? false),
  schema: withoutDescription(schema),
  ...(example === undefined ? {} : { example }),
});

const withoutDescription = ({ description: _, ...schema }: JsonSchema): JsonSchema => schema;

const successHeaders = (route: Route): HeaderName[] => [
  'ETag',
  'Last-Modified',
  'Cache-Control',
  'Vary',
  'X-Request-Id',
  ...(route.kind === 'data' ? (['Snapshot-Version'] as const) : []),
  ...(isShared(route) ? (['Age'] as const) : []),
  ...(isLimited(route) && !isShared(route) ? (['RateLimit-Policy', 'RateLimit'] as const) : []),
];
