/** Koa with every answer prepared as bytes and nothing else: what Koa itself costs. */
import Koa from 'koa';
import { BASE, readMarkets, ready } from './support.js';

const { list, byCode, histories } = readMarkets();

/** @param {unknown} data */
const prepare = (data) => Buffer.from(JSON.stringify(data));

const answers = new Map([[`${BASE}/markets`, prepare({ data: list })]]);
for (const [cbsa, market] of byCode) answers.set(`${BASE}/markets/${cbsa}`, prepare(market));
for (const [cbsa, history] of histories) answers.set(`${BASE}/markets/${cbsa}/history`, prepare({ data: history }));

const app = new Koa();
app.use((ctx) => {
  const body = answers.get(ctx.url);
  if (!body) return;
  ctx.type = 'json';
  ctx.body = body;
});
const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
