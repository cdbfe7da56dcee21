/** Fastify with its plugins. It has all features of the service, including schemas for input and output. */
import compress from '@fastify/compress';
import cors from '@fastify/cors';
import etag from '@fastify/etag';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { COMPRESSION_THRESHOLD, corsOptions, headersOf, helmetOptions, log, newId, record } from './everything.js';
import { answers, BASE, endpoints, limitOf, openapi, options, ready } from './support.js';

const app = Fastify({
  genReqId: newId,
  requestIdHeader: 'x-request-id',
  loggerInstance: log,
  // By default, Fastify logs two lines per request. The service logs one line.
  disableRequestLogging: true,
});

await app.register(cors, corsOptions);
await app.register(helmet, helmetOptions);
// ETags must be registered before compression, which turns bodies into streams without an ETag.
await app.register(etag);
await app.register(compress, { threshold: COMPRESSION_THRESHOLD, encodings: ['br', 'gzip', 'identity'] });
app.addHook('onRequest', async (request, reply) => {
  reply.headers(headersOf(request.id));
});
app.addHook('onResponse', async (request, reply) => {
  const { id, method, routeOptions } = request;
  const { statusCode: status, elapsedTime: ms } = reply;
  record({ id, method, route: routeOptions.url ?? 'none', status, ms });
});

app.decorateRequest('limit', 0);
app.addHook('onRequest', async (request, reply) => {
  request.limit = limitOf(request.headers.authorization);
  if (request.limit === undefined) {
    return reply.code(401).send({ error: 'The API key is missing or invalid.', code: 'invalid_api_key' });
  }
});

await app.register(rateLimit, {
  max: (request) => request.limit,
  timeWindow: '1 minute',
  redis: new Redis(options.redis),
  keyGenerator: (request) => request.headers.authorization,
});

/** @param {object} schema */
const ownSchema = (schema) =>
  JSON.parse(JSON.stringify(schema).replaceAll(/"#\/components\/schemas\/(\w+)"/g, '"$1#"'));

for (const [name, schema] of Object.entries(openapi.components.schemas)) {
  app.addSchema({ ...ownSchema(schema), $id: name });
}

/** @param {{ parameters?: object[] }} operation @param {string} place */
const parametersIn = ({ parameters = [] }, place) => {
  const here = parameters.filter((parameter) => parameter.in === place);
  return {
    type: 'object',
    required: here.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(here.map(({ name, schema }) => [name, schema])),
  };
};

// The limiter applies only to routes that are registered after it.
await app.register(
  async (api) => {
    for (const { path, operation } of endpoints) {
      const schema = {
        params: parametersIn(operation, 'path'),
        querystring: parametersIn(operation, 'query'),
        response: { 200: ownSchema(operation.responses[200].content['application/json'].schema) },
      };
      api.get(path, { schema }, async (request, reply) => {
        const answer = answers.get(request.url);
        return answer?.status === 200 ? answer.body : reply.callNotFound();
      });
    }
  },
  { prefix: BASE },
);

await app.listen({ port: 0, host: '127.0.0.1' });
ready(app.server.address().port);
