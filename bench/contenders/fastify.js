/**
 * Fastify as its documentation has it: schemas for input and output, a key, and a limit for each key; and, where all
 * features are ordered, what else the service does with every request, by the plugins that Fastify has for it.
 */
import rateLimit from '@fastify/rate-limit';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { addEverything, everythingOptions } from './fastify-everything.js';
import { BASE, isKeyValid, orders, readMarkets, ready } from './support.js';

const { list, byCode, histories } = readMarkets();
const app = Fastify(orders.everything ? everythingOptions() : {});
if (orders.everything) await addEverything(app);

app.addHook('onRequest', async (request, reply) => {
  if (!isKeyValid(request.headers.authorization)) {
    return reply.code(401).send({ error: 'The API key is missing or invalid.', code: 'invalid_api_key' });
  }
});

if (orders.limiter === 'redis') {
  await app.register(rateLimit, {
    max: orders.limit,
    timeWindow: '1 minute',
    redis: new Redis(orders.redis),
    keyGenerator: (request) => request.headers.authorization ?? request.ip,
  });
}

const nullable = (type) => ({ type, nullable: true });
const market = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    cbsa: { type: 'string' },
    name: { type: 'string' },
    signal: nullable('string'),
    risk_score: nullable('string'),
    yoy_price: nullable('number'),
    forecast_12m: nullable('number'),
  },
};
const observation = { type: 'object', properties: { period_start: { type: 'string' }, value: { type: 'number' } } };
const listOf = (items) => ({ type: 'object', properties: { data: { type: 'array', items } } });
const params = { type: 'object', required: ['cbsa'], properties: { cbsa: { type: 'string', pattern: '^\\d{5}$' } } };

/** Routes are declared inside the plugin that comes after the limiter, which only then sees them. */
await app.register(
  async (api) => {
    api.get('/markets', { schema: { response: { 200: listOf(market) } } }, async () => ({ data: list }));
    api.get('/markets/:cbsa', { schema: { params, response: { 200: market } } }, async (request, reply) => {
      return byCode.get(request.params.cbsa) ?? reply.callNotFound();
    });
    api.get(
      '/markets/:cbsa/history',
      { schema: { params, response: { 200: listOf(observation) } } },
      async (request, reply) => {
        const history = histories.get(request.params.cbsa);
        return history ? { data: history } : reply.callNotFound();
      },
    );
  },
  { prefix: BASE },
);

await app.listen({ port: 0, host: '127.0.0.1' });
ready(app.server.address().port);
