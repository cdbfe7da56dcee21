/** Express as its documentation has it: a key, and a limit for each key. */
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';
import { BASE, isKeyValid, orders, readMarkets, ready } from './support.js';

const { list, byCode, histories } = readMarkets();
const app = express();

app.use((request, response, next) => {
  if (isKeyValid(request.headers.authorization)) next();
  else response.status(401).json({ error: 'The API key is missing or invalid.', code: 'invalid_api_key' });
});

if (orders.limiter === 'redis') {
  const redis = new Redis(orders.redis);
  app.use(
    rateLimit({
      windowMs: 60_000,
      limit: orders.limit,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      keyGenerator: (request) => request.headers.authorization,
      store: new RedisStore({ sendCommand: (command, ...args) => redis.call(command, ...args) }),
    }),
  );
}

const api = express.Router();
api.get('/markets', (_request, response) => response.json({ data: list }));
api.get('/markets/:cbsa', (request, response, next) => {
  const market = byCode.get(request.params.cbsa);
  if (market) response.json(market);
  else next();
});
api.get('/markets/:cbsa/history', (request, response, next) => {
  const history = histories.get(request.params.cbsa);
  if (history) response.json({ data: history });
  else next();
});
app.use(BASE, api);

const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
