import { definePlugin, type Plugin, serviceRoute } from '../contracts/plugin.js';
import { memoize } from '../util/lru-map.js';
import { packageVersion } from '../util/package.js';

interface OpenApi {
  readonly openapi: string;
  readonly info: object;
  readonly paths: object;
}

/**
 * Maximum number of cached OpenAPI documents. There is one document per public URL, and a service has few public URLs.
 */
const MOST_DOCUMENTS = 10;

export const openApiPlugin = (build: (publicUrl: string) => Promise<object>): Plugin => {
  const documentFor = memoize((publicUrl) => build(publicUrl) as Promise<OpenApi>, MOST_DOCUMENTS);
  return definePlugin({
    name: 'reference',
    version: packageVersion,
    description: 'The OpenAPI description of this service.',
    routes: (_options, { info: { title, version } }) => [
      serviceRoute({
        path: '/openapi.json',
        operationId: 'getOpenApi',
        summary: 'This OpenAPI document',
        description: 'Describes the routes of this service. Needs no API key.',
        key: false,
        response: {
          description: 'An OpenAPI 3.1 document.',
          schema: {
            type: 'object',
            required: ['openapi', 'info', 'paths'],
            properties: { openapi: { type: 'string' }, info: { type: 'object' }, paths: { type: 'object' } },
          },
          example: { openapi: '3.1.0', info: { title, version }, paths: {} },
        },
        handler: async (_input, { publicUrl }) => documentFor(publicUrl),
      }),
    ],
  });
};
