/** Koa with the usual packages. It has all features of the service except schema validation. */
import cors from '@koa/cors';
import Router from '@koa/router';
import { Redis } from 'ioredis';
import Koa from 'koa';
import compress from 'koa-compress';
import conditional from 'koa-conditional-get';
import etag from 'koa-etag';
import helmet from 'koa-helmet';
import rateLimit from 'koa-ratelimit';
import { COMPRESSION_THRESHOLD, corsOptions, headersOf, helmetOptions, newId, record } from './everything.js';
import { answers, BASE, endpoints, limitOf, options, ready } from './support.js';

const app = new Koa();

app.use(async (ctx, next) => {
  const began = performance.now();
  const id = ctx.get('X-Request-Id') || newId();
  ctx.set(headersOf(id));
  await next();
  const { method, status, _matchedRoute: route = 'none' } = ctx;
  record({ id, method, route, status, ms: performance.now() - began });
});
app.use(cors({ origin: corsOptions.origin, exposeHeaders: corsOptions.exposedHeaders }));
app.use(helmet(helmetOptions));
app.use(compress({ threshold: COMPRESSION_THRESHOLD, deflate: false, zstd: false }));
app.use(conditional());
app.use(etag());

app.use((ctx, next) => {
  ctx.state.limit = limitOf(ctx.headers.authorization);
  if (ctx.state.limit !== undefined) return next();
  ctx.status = 401;
  ctx.body = { error: 'The API key is missing or invalid.', code: 'invalid_api_key' };
});

const redis = new Redis(options.redis);
/** An instance of koa-ratelimit has a fixed limit, so each limit needs its own instance. */
const limiters = new Map();
app.use((ctx, next) => {
  const { limit: max } = ctx.state;
  let limiter = limiters.get(max);
  if (!limiter) {
    limiter = rateLimit({ driver: 'redis', db: redis, duration: 60_000, max, id: (ctx) => ctx.headers.authorization });
    limiters.set(max, limiter);
  }
  return limiter(ctx, next);
});

const router = new Router({ prefix: BASE });
for (const { path } of endpoints) {
  router.get(path, (ctx) => {
    const answer = answers.get(ctx.url);
    if (!answer) return;
    ctx.status = answer.status;
    ctx.body = answer.body;
  });
}
app.use(router.routes());

const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
