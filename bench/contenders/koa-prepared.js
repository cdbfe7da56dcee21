/** Koa with every answer prepared as bytes and nothing else: what Koa itself costs. */
import Koa from 'koa';
import { answers, ready } from './support.js';

const prepared = new Map([...answers].map(([path, { body }]) => [path, Buffer.from(JSON.stringify(body))]));

const app = new Koa();
app.use((ctx) => {
  const body = prepared.get(ctx.url);
  if (!body) return;
  ctx.type = 'json';
  ctx.body = body;
});
const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
