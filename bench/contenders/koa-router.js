/** Koa as its documentation has it: a router, and objects for bodies. No keys, no limits. */
import Router from '@koa/router';
import Koa from 'koa';
import { BASE, readMarkets, ready } from './support.js';

const { list, byCode, histories } = readMarkets();

const router = new Router({ prefix: BASE });
router.get('/markets', (ctx) => {
  ctx.body = { data: list };
});
router.get('/markets/:cbsa', (ctx) => {
  ctx.body = byCode.get(ctx.params.cbsa) ?? ctx.throw(404);
});
router.get('/markets/:cbsa/history', (ctx) => {
  ctx.body = { data: histories.get(ctx.params.cbsa) ?? ctx.throw(404) };
});

const app = new Koa();
app.use(router.routes());
const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
