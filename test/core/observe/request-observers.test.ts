import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Context } from 'koa';
import type { FinishedRequest, RequestObserver } from '../../../core/contracts/observer.js';
import { definePlugin } from '../../../core/contracts/plugin.js';
import * as fixture from '../../support/fixture.js';
import { request } from '../../support/http-client.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { until } from '../../support/until.js';

const observing = (observer: RequestObserver, name = 'observing') => ({
  plugin: definePlugin({
    name,
    version: '1.0.0',
    description: 'Observes.',
    routes: () => [],
    observer: () => observer,
  }),
});

describe("a plugin's observer", () => {
  const open: TestApp[] = [];
  const serve = async (observers: readonly RequestObserver[], logger: KeptLogger = keptLogger()) => {
    const plugins = observers.map((observer, index) => observing(observer, `observing-${index}`));
    const app = await startTestApp({ overrides: { plugins, logger } });
    open.push(app);
    return app;
  };
  const collect = (): RequestObserver & { readonly seen: FinishedRequest[] } => {
    const seen: FinishedRequest[] = [];
    return { seen, onRequest: (finished) => void seen.push(finished) };
  };
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });

  it('receives each request with the fields of its log line, its times and its trace', async () => {
    const observer = collect();
    const app = await serve([observer]);
    const before = Date.now();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const { headers } = await app.get('/markets?format=json', { headers: { traceparent } });
    await app.get('/markets?format=json');
    const after = Date.now();
    const [first, second] = observer.seen;
    const { startedAt, durationMs, ...rest } = first!;
    expect(rest).to.deep.equal({
      id: headers['x-request-id'],
      method: 'GET',
      route: '/api/v1/markets',
      path: '/api/v1/markets',
      host: new URL(app.url).host,
      httpVersion: '1.1',
      status: 200,
      aborted: false,
      key: (await app.keys.list())[0]!.id,
      snapshot: fixture.manifest.version,
      cached: false,
      trace: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', parentId: '00f067aa0ba902b7', sampled: true },
    });
    expect(startedAt).to.be.within(before - 1, after + 1);
    expect(durationMs).to.be.within(0, after - before + 1);
    expect(second).to.include({ cached: true, trace: null });
  });

  it('receives an equivalent request as cached', async () => {
    const observer = collect();
    const app = await serve([observer]);
    for (const since of ['1900-01-01', '1901-01-01']) await app.get(`/markets/26420/history?since=${since}`);
    expect(observer.seen.map(({ cached }) => cached)).to.deep.equal([false, true]);
  });

  for (const isComplete of [true, false]) {
    it(`receives a stream when ${isComplete ? 'its last byte has been written' : 'the client disconnects'}`, async () => {
      const observer = collect();
      let end: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      async function* chunks() {
        yield 'first';
        await ended;
        yield 'last';
      }
      const handler = (ctx: Context): void => {
        ctx.body = Readable.from(chunks());
      };
      const { plugin } = observing(observer);
      const mounts = () => [{ path: '/stream', summary: 'A stream', key: false, handler }];
      const app = await startTestApp({ overrides: { plugins: [{ plugin: { ...plugin, mounts } }] } });
      open.push(app);
      const [body] = (await once(httpGet(`${app.origin}/stream`, { agent: false }), 'response')) as [IncomingMessage];
      await once(body, 'data');
      expect(observer.seen).to.have.length(0);
      if (isComplete) end();
      else body.destroy();
      await until(() => observer.seen.length > 0);
      expect(observer.seen[0]).to.include({ status: 200, aborted: !isComplete });
      end();
    });
  }

  it('receives requests without an endpoint, with null for missing fields', async () => {
    const observer = collect();
    const app = await serve([observer]);
    await request(`${app.origin}/nowhere?a=1`, { method: 'POST', headers: { Authorization: 'Bearer x' } });
    expect(observer.seen[0]).to.include({
      method: 'POST',
      route: null,
      path: '/nowhere',
      status: 404,
      key: null,
      snapshot: null,
      cached: false,
    });
  });

  it('never receives a key, wherever the caller puts it', async () => {
    const observer = collect();
    const app = await serve([observer]);
    const { key } = app;
    for (const target of [`/markets/${key}`, `/${key}/x`, `/movers?limit=${key}`, `/movers?${key}`]) {
      await app.get(target);
    }
    await app.get('/movers', { headers: { Host: `${key}.example`, 'X-Request-Id': key, traceparent: key } });
    expect(observer.seen).to.have.length(5);
    expect(JSON.stringify(observer.seen)).to.not.contain(key.slice(0, 24));
    expect(observer.seen[0]!.path).to.equal('/api/v1/markets/api_***');
  });

  it('is named in the log if its promise rejects, and the process keeps running', async () => {
    const logger = keptLogger();
    const app = await serve([{ onRequest: () => Promise.reject(new Error('a bug')) }], logger);
    expect((await app.get('/markets')).status).to.equal(200);
    await until(() => logger.lines.includes('error: a request observer failed') || undefined);
  });

  it('is named in the log if it throws, which affects neither the request nor other observers', async () => {
    const failing: RequestObserver = {
      onRequest() {
        throw new Error('a bug');
      },
    };
    const observer = collect();
    const logger = keptLogger();
    const app = await serve([failing, observer], logger);
    expect((await app.get('/markets')).status).to.equal(200);
    expect(observer.seen).to.have.length(1);
    expect(logger.lines).to.include('error: a request observer failed');
  });

  it('is closed after a response that the shutdown cuts off', async () => {
    const calls: string[] = [];
    const { plugin } = observing({
      onRequest: ({ aborted }) => void calls.push(`aborted: ${aborted}`),
      close: async () => void calls.push('close'),
    });
    const handler = (ctx: Context): void => {
      ctx.body = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(1024 * 1024)));
    };
    const mounts = () => [{ path: '/stream', summary: 'A stream', key: false, handler }];
    const app = await startTestApp({
      config: { server: { drainMs: 300 } },
      overrides: { plugins: [{ plugin: { ...plugin, mounts } }] },
    });
    open.push(app);
    const [body] = (await once(httpGet(`${app.origin}/stream`, { agent: false }), 'response')) as [IncomingMessage];
    body.on('error', () => undefined);
    await app.close();
    expect(calls).to.deep.equal(['aborted: true', 'close']);
  });

  it('is closed once, after the last request, and errors of closing are logged', async () => {
    const calls: string[] = [];
    const logger = keptLogger();
    const app = await serve(
      [
        {
          onRequest: () => void calls.push('request'),
          async close() {
            calls.push('close');
            throw new Error('a bug');
          },
        },
      ],
      logger,
    );
    const responses = [app.get('/markets'), app.get('/movers')];
    await Promise.all(responses);
    await app.close();
    await app.close();
    expect(calls).to.deep.equal(['request', 'request', 'close']);
    expect(logger.lines).to.include('warn: a request observer did not close cleanly');
  });
});
