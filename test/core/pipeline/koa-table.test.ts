/** Koa packages must behave the same around a service and around a plain Koa application. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa, { type Middleware } from 'koa';
import { WebSocket } from 'ws';
import { request, type TestResponse } from '../../support/http-client.js';
import { TRIALS, type Trial, type TrialRequest } from '../../support/koa-trials.js';
import { type MiddlewareApp, startMiddlewareApp } from '../../support/middleware-app.js';

const koaWebsocket = ((await import('koa-websocket' as string)) as { default: (app: Koa) => void }).default;

const THINGS = '/api/v1/things';
const REQUESTS: readonly TrialRequest[] = [
  { path: THINGS },
  { path: THINGS, method: 'HEAD' },
  { path: `${THINGS}?format=csv` },
  { path: `${THINGS}/1` },
  { path: `${THINGS}/1000` },
  { path: `${THINGS}/x` },
  { path: '/nowhere' },
];

const VARIABLE = ['date', 'connection', 'keep-alive', 'x-request-id', 'ratelimit', 'ratelimit-policy'];
/** Headers that the service sets before middleware runs. */
const COMMON = /^(content-security|referrer-|x-content-type|access-control|cross-origin)/;

const config = { auth: { keys: 'memory', tiers: { open: { requestsPerMinute: 1e6 } }, anonymous: 'open' } };

const isJson = ({ headers }: TestResponse): boolean => /^application\/json/.test(headers['content-type'] ?? '');

/** Middleware for a plain Koa application. It responds with copies of the responses of the service at `origin`. */
const copyOf = (origin: string): { first: Middleware; last: Middleware } => ({
  async first(ctx, next) {
    const { headers } = await request(`${origin}/nowhere`);
    for (const [name, value] of Object.entries(headers)) if (COMMON.test(name)) ctx.set(name, value!);
    await next();
    if (ctx.fresh) ctx.status = 304;
  },
  async last(ctx) {
    const method = ctx.method === 'HEAD' ? 'GET' : ctx.method;
    const { authorization } = ctx.headers;
    const response = await request(`${origin}${ctx.url}`, {
      method,
      ...(authorization && { headers: { authorization } }),
      ...(ctx.request.length && { body: 'x' }),
    });
    ctx.status = response.status;
    ctx.body = isJson(response) ? response.json : response.bytes;
    for (const [name, value] of Object.entries(response.headers)) {
      if (name === 'vary') ctx.vary(String(value));
      else if (!COMMON.test(name) && !VARIABLE.includes(name)) ctx.set(name, value!);
    }
  },
});

const add = (app: Koa, { add, sees }: Trial, log: string[], upstream: string): void => {
  add(app, log, upstream);
  if (!sees) return;
  app.use(async (ctx, next) => {
    const seen = JSON.stringify(sees(ctx));
    await next();
    ctx.set('X-Seen', encodeURIComponent(seen));
  });
};

const requestsOf = ({ requests = [] }: Trial): readonly TrialRequest[] => {
  const isOwn = ({ path, method }: TrialRequest) => requests.some((own) => own.path === path && own.method === method);
  return [...REQUESTS.filter((each) => !isOwn(each)), ...requests];
};

const comparable = ({ status, headers, text }: TestResponse, random: readonly string[] = []) => ({
  status,
  headers: Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !VARIABLE.includes(name))
      .map(([name, value]) => [name, random.includes(name) ? '(random)' : value]),
  ),
  text,
});

type Comparable = ReturnType<typeof comparable>;

const withoutDifferences =
  (differs: TrialRequest['differs']) =>
  ({ status, headers, text }: Comparable): object => {
    if (!differs) return { status, headers, text };
    if (!differs.headers) return { status };
    const kept = Object.entries(headers).filter(([name]) => !differs.headers!.includes(name));
    return { status, text, headers: Object.fromEntries(kept) };
  };

const withoutTimes = (line: string): string => line.replace(/\d+m?s\b|"(time|responseTime|id)":[\d.]+/g, '(time)');

describe('Koa packages around the service and around plain Koa', function () {
  this.timeout(20_000);
  let bare: MiddlewareApp;
  const { warn } = console;
  before(async () => {
    console.warn = () => undefined;
    bare = await startMiddlewareApp(config);
  });
  after(() => {
    console.warn = warn;
    return bare?.close();
  });

  for (const [name, trial] of Object.entries(TRIALS)) {
    it(name, async () => {
      const logs: { service: string[]; plain: string[] } = { service: [], plain: [] };
      const service = await startMiddlewareApp(config);
      let server: Server | undefined;
      try {
        add(service.app.koa as Koa, trial, logs.service, bare.origin);
        const { first, last } = copyOf(bare.origin);
        const plain = new Koa();
        plain.silent = true;
        plain.use(first);
        add(plain, trial, logs.plain, bare.origin);
        server = plain.use(last).listen(0, '127.0.0.1');
        await once(server, 'listening');
        const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        let effects = 0;
        for (const { path, differs, headers, ...rest } of requestsOf(trial)) {
          const sent = { ...rest, headers: { Host: 'api.example', ...headers } };
          const [ours, theirs, without] = await Promise.all(
            [service.origin, origin, bare.origin].map(async (at) =>
              comparable(await request(at + path, sent), trial.random),
            ),
          );
          const title = `${rest.method ?? 'GET'} ${path}`;
          if (JSON.stringify(theirs) !== JSON.stringify(without)) effects++;
          if (differs) expect(ours, title).to.not.deep.equal(theirs);
          const kept = withoutDifferences(differs);
          expect(kept(ours!), title).to.deep.equal(kept(theirs!));
        }
        expect(effects + logs.plain.length).to.be.above(0);
        expect(logs.service.map(withoutTimes)).to.deep.equal(logs.plain.map(withoutTimes));
      } finally {
        await service.close();
        server?.closeAllConnections();
        server?.close();
      }
    });
  }

  it('koa-websocket serves connections if the program calls app.koa.listen', async () => {
    const service = await startMiddlewareApp(config);
    const koa = service.app.koa as Koa & { ws: { use(handle: (ctx: Koa.Context) => void): void } };
    koaWebsocket(koa);
    koa.ws.use(({ websocket, path }) => websocket.send(`hello from ${path}`));
    const server = koa.listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const client = new WebSocket(`ws://127.0.0.1:${port}/chat`);
      const [message] = await once(client, 'message');
      expect(String(message)).to.equal('hello from /chat');
      client.terminate();
      expect((await request(`http://127.0.0.1:${port}${THINGS}`)).status).to.equal(200);
      expect((await request(`${service.origin}${THINGS}`)).status).to.equal(200);
    } finally {
      server.closeAllConnections();
      server.close();
      await service.close();
    }
  });
});
