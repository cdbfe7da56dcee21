/** Express with the usual packages. It has all features of the service except schema validation. */
import compression from 'compression';
import cors from 'cors';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import helmet from 'helmet';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';
import { COMPRESSION_THRESHOLD, corsOptions, headersOf, helmetOptions, newId, record } from './everything.js';
import { answers, BASE, endpoints, limitOf, options, ready } from './support.js';

const app = express();
app.set('etag', 'strong');

app.use((request, response, next) => {
  const began = performance.now();
  const id = request.get('X-Request-Id') ?? newId();
  response.set(headersOf(id));
  response.on('finish', () => {
    const { method, route } = request;
    const { statusCode: status } = response;
    record({ id, method, route: route?.path ?? 'none', status, ms: performance.now() - began });
  });
  next();
});
app.use(cors(corsOptions));
app.use(helmet(helmetOptions));
app.use(compression({ threshold: COMPRESSION_THRESHOLD }));

app.use((request, response, next) => {
  response.locals.limit = limitOf(request.headers.authorization);
  if (response.locals.limit !== undefined) next();
  else response.status(401).json({ error: 'The API key is missing or invalid.', code: 'invalid_api_key' });
});

const redis = new Redis(options.redis);
app.use(
  rateLimit({
    windowMs: 60_000,
    limit: (_request, response) => response.locals.limit,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    keyGenerator: (request) => request.headers.authorization,
    store: new RedisStore({ sendCommand: (command, ...args) => redis.call(command, ...args) }),
  }),
);

const api = express.Router();
for (const { path } of endpoints) {
  api.get(path, (request, response, next) => {
    const answer = answers.get(request.originalUrl);
    if (answer) response.status(answer.status).json(answer.body);
    else next();
  });
}
app.use(BASE, api);

const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
