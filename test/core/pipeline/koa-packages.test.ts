import { createRequire } from 'node:module';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Router from '@koa/router';
import { expect } from 'chai';
import type { Middleware } from 'koa';
import { packageRoot } from '../../../core/util/package.js';
import { request, type TestRequest, type TestResponse } from '../../support/http-client.js';
import { type Chosen, type MiddlewareApp, startMiddlewareApp } from '../../support/middleware-app.js';

const require = createRequire(import.meta.url);
const load = (name: string): ((...options: unknown[]) => Middleware) => {
  const module = require(name);
  return module.default ?? module;
};
const [helmet, responseTime, cors, compress, conditionalGet, etag] = [
  'koa-helmet',
  'koa-response-time',
  '@koa/cors',
  'koa-compress',
  'koa-conditional-get',
  'koa-etag',
].map(load) as [typeof load, ...(typeof load)[]] as unknown as ((...options: unknown[]) => Middleware)[];
const [jwt, basicAuth, serve, mount, cacheControl] = [
  'koa-jwt',
  'koa-basic-auth',
  'koa-static',
  'koa-mount',
  'koa-cache-control',
].map(load);
const { sign } = require('jsonwebtoken') as { sign(claims: object, secret: string): string };

const decode = ({ headers, bytes }: TestResponse): string => {
  const encoding = headers['content-encoding'];
  return (encoding === 'br' ? brotliDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString();
};

describe('Koa packages', () => {
  let service: MiddlewareApp;
  let plain: Readonly<Record<string, TestResponse>>;
  const warn = console.warn;
  before(async () => {
    console.warn = () => undefined;
    service = await startMiddlewareApp();
    const paths = ['/things', '/things?format=csv', '/things/1', '/now', '/things/1000', '/nowhere', '/things/x'];
    plain = Object.fromEntries(
      await Promise.all(paths.map(async (path) => [path, await service.get(path)] as [string, TestResponse])),
    );
  });
  afterEach(() => service.use({}));
  after(() => {
    console.warn = warn;
    return service.close();
  });

  const mounted = (given: TestRequest = {}, path = '/mount') => request(`${service.origin}${path}`, given);
  const ROUTES = ['/things', '/things?format=csv', '/things/1', '/now'] as const;
  const ERRORS = ['/things/1000', '/nowhere', '/things/x'] as const;
  const PLACES: readonly (keyof Chosen)[] = ['own', 'around'];
  const use = (place: keyof Chosen, ...middleware: Middleware[]) => service.use({ [place]: middleware });
  /** Middleware around the service sees errors as responses. Middleware of a plugin can catch the errors. */
  const answered = (place: keyof Chosen): readonly string[] => (place === 'around' ? [...ROUTES, ...ERRORS] : ROUTES);

  for (const place of PLACES) {
    describe(place === 'own' ? "in a plugin's own middleware" : 'around the whole service', () => {
      it('koa-helmet sets its headers, and replaces the policy', async () => {
        use(place, helmet!());
        for (const path of answered(place)) {
          const { status, headers, text } = await service.get(path);
          expect([status, text], path).to.deep.equal([plain[path]!.status, plain[path]!.text]);
          expect(headers, path).to.include({ 'x-frame-options': 'SAMEORIGIN', 'x-dns-prefetch-control': 'off' });
          expect(headers['content-security-policy'], path).to.contain("default-src 'self'");
          expect(headers).to.include.keys('strict-transport-security', 'x-request-id');
        }
        const { headers } = await service.get('/things', {
          headers: { 'If-None-Match': plain['/things']!.headers.etag! },
        });
        expect(headers).to.include({ 'x-frame-options': 'SAMEORIGIN' });
      });

      it('koa-response-time sets its header, even on cached responses and 304s', async () => {
        use(place, responseTime!({ hrtime: true }));
        for (const path of [...answered(place), ...answered(place)]) {
          const { status, headers, text } = await service.get(path);
          expect([status, text], path).to.deep.equal([plain[path]!.status, plain[path]!.text]);
          expect(headers['x-response-time'], path).to.match(/^[\d.]+ms$/);
        }
        const again = await service.get('/things', { headers: { 'If-None-Match': plain['/things']!.headers.etag! } });
        expect([again.status, typeof again.headers['x-response-time']]).to.deep.equal([304, 'string']);
      });

      it('@koa/cors sets its headers', async () => {
        use(place, cors!({ origin: 'https://only.example', credentials: true }));
        for (const path of answered(place)) {
          const { headers } = await service.get(path, { headers: { Origin: 'https://only.example' } });
          expect(headers, path).to.include({
            'access-control-allow-origin': 'https://only.example',
            'access-control-allow-credentials': 'true',
          });
        }
      });

      for (const encoding of ['gzip', 'br']) {
        it(`koa-compress compresses with ${encoding}, and 304s still work`, async () => {
          use(place, compress!({ threshold: 0, zstd: false }));
          for (const path of [...answered(place), ...answered(place)]) {
            const response = await service.get(path, { headers: { 'Accept-Encoding': encoding } });
            expect(response.status, path).to.equal(plain[path]!.status);
            expect(response.headers['content-encoding'], path).to.equal(encoding);
            expect(decode(response), path).to.equal(plain[path]!.text);
            expect(response.headers.vary).to.contain('Accept-Encoding');
            if (response.status !== 200) continue;
            expect(response.headers.etag, 'a tag of the same content').to.equal(`W/${plain[path]!.headers.etag}`);
            for (const tag of [response.headers.etag!, plain[path]!.headers.etag!]) {
              const again = await service.get(path, { headers: { 'Accept-Encoding': encoding, 'If-None-Match': tag } });
              expect([again.status, again.text], path).to.deep.equal([304, '']);
              expect(again.headers).to.not.have.any.keys('content-encoding', 'content-length', 'content-type');
            }
          }
        });
      }

      it('koa-compress does nothing if the client accepts no encoding', async () => {
        use(place, compress!({ threshold: 0 }));
        for (const path of answered(place)) {
          const { text, headers } = await service.get(path);
          expect([text, headers.etag], path).to.deep.equal([plain[path]!.text, plain[path]!.headers.etag]);
        }
      });

      it('koa-conditional-get and koa-etag send 304, even for a wrapped body', async () => {
        for (const wrap of [false, true]) {
          use(place, conditionalGet!(), etag!(), async (ctx, next) => {
            await next();
            if (wrap && ctx.status === 200) ctx.body = { wrapped: ctx.body };
          });
          for (const path of ROUTES) {
            const first = await service.get(path);
            expect(first.status).to.equal(200);
            expect(first.headers.etag === plain[path]!.headers.etag, path).to.equal(!wrap);
            const again = await service.get(path, { headers: { 'If-None-Match': first.headers.etag! } });
            expect([again.status, again.text, again.headers.etag], path).to.deep.equal([304, '', first.headers.etag]);
            const other = await service.get(path, { headers: { 'If-None-Match': '"other"' } });
            expect([other.status, other.text], path).to.deep.equal([200, first.text]);
          }
        }
      });

      it('koa-cache-control replaces the header of the service', async () => {
        use(place, cacheControl!({ public: true, maxAge: 60 }));
        for (const path of ROUTES) {
          expect((await service.get(path)).headers['cache-control'], path).to.equal('public,max-age=60');
        }
      });

      it('koa-basic-auth requires a name and a password', async () => {
        use(place, (ctx, next) => {
          const given = ctx.get('X-Basic');
          if (given) ctx.req.headers.authorization = given;
          return basicAuth!({ name: 'tj', pass: 'tobi' })(ctx, next);
        });
        const refused = await service.get('/things');
        expect([refused.status, refused.json.code]).to.deep.equal([401, 'invalid_api_key']);
        expect(refused.headers['www-authenticate']).to.match(/^Basic realm=/);
        expect(refused.headers).to.include({ 'content-type': 'application/json; charset=utf-8' });
      });

      it('koa-jwt requires a token in its header or cookie', async () => {
        use(
          place,
          jwt!({ secret: 'secret', getToken: (ctx: { get(name: string): string }) => ctx.get('X-Token') || null }),
        );
        const refused = await service.get('/things');
        expect([refused.status, refused.json]).to.deep.equal([
          401,
          { error: 'Authentication Error', code: 'invalid_api_key' },
        ]);
        const token = sign({ sub: 'me' }, 'secret');
        expect((await service.get('/things', { headers: { 'X-Token': token } })).text).to.equal(plain['/things']!.text);
      });

      it('several packages work together', async () => {
        use(
          place,
          responseTime!(),
          helmet!(),
          compress!({ threshold: 0, br: false, zstd: false }),
          conditionalGet!(),
          etag!(),
        );
        const first = await service.get('/things', { headers: { 'Accept-Encoding': 'gzip' } });
        expect(decode(first)).to.equal(plain['/things']!.text);
        expect(first.headers).to.include({ 'content-encoding': 'gzip', 'x-frame-options': 'SAMEORIGIN' });
        expect(first.headers).to.include.keys('x-response-time');
        const again = await service.get('/things', {
          headers: { 'Accept-Encoding': 'gzip', 'If-None-Match': first.headers.etag! },
        });
        expect(again.status).to.equal(304);
      });
    });
  }

  it('@koa/cors around the service responds to preflights', async () => {
    use('around', cors!({ allowMethods: 'GET', maxAge: 5 }));
    const { status, headers } = await request(`${service.url}/things`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
    });
    expect(status).to.equal(204);
    expect(headers).to.include({ 'access-control-allow-methods': 'GET', 'access-control-max-age': '5' });
  });

  it('koa-static and koa-mount around the service serve files', async () => {
    use('around', mount!('/files', serve!(join(packageRoot, 'docs'))) as never);
    const { status, text, headers } = await mounted({}, '/files/README.md');
    expect([status, text.startsWith('# ')]).to.deep.equal([200, true]);
    expect(headers).to.include.keys('last-modified', 'content-length', 'x-request-id');
    expect((await mounted({}, '/files/none.md')).status).to.equal(404);
    expect((await service.get('/things')).status).to.equal(200);
  });

  describe('in a mount', () => {
    it('koa-static serves files, and other paths get the service’s 404', async () => {
      service.use({ mount: mount!('/mount', serve!(join(packageRoot, 'docs'))) });
      const { status, text, headers } = await mounted({}, '/mount/README.md');
      expect([status, text.startsWith('# ')]).to.deep.equal([200, true]);
      expect(headers['content-type']).to.match(/^text\/markdown/);
      const head = await mounted({ method: 'HEAD' }, '/mount/README.md');
      expect([head.status, head.headers['content-length'], head.text]).to.deep.equal([
        200,
        headers['content-length'],
        '',
      ]);
      const none = await mounted({}, '/mount/none.md');
      expect([none.status, none.json.code]).to.deep.equal([404, 'route_not_found']);
      const outside = await mounted({}, '/mount/..%2fpackage.json');
      expect(outside.status).to.be.within(400, 404);
    });

    it('@koa/router routes requests within the mount', async () => {
      const router = new Router({ prefix: '/mount' });
      router.get('/users/:id', (ctx) => {
        ctx.body = { id: ctx['params']['id'], matched: ctx['_matchedRoute'] };
      });
      router.post('/users', (ctx) => {
        ctx.status = 201;
        ctx.body = { made: true };
      });
      router.get('/fails', (ctx) => ctx.throw(410, 'No more.'));
      service.use({ mount: router.routes() as unknown as Middleware });
      expect((await mounted({}, '/mount/users/7')).json).to.deep.equal({ id: '7', matched: '/mount/users/:id' });
      const made = await mounted({ method: 'POST' }, '/mount/users');
      expect([made.status, made.json]).to.deep.equal([201, { made: true }]);
      expect((await mounted({}, '/mount/fails')).json).to.deep.equal({ error: 'No more.', code: 'gone' });
      expect((await mounted({}, '/mount/none')).json.code).to.equal('route_not_found');
    });

    it('koa-jwt and koa-basic-auth protect the mount', async () => {
      const guarded =
        (guard: Middleware): Middleware =>
        (ctx, next) =>
          guard(ctx, async () => {
            ctx.body = { user: ctx.state['user'] ?? null };
            await next;
          });
      service.use({ mount: guarded(jwt!({ secret: 'secret' })) });
      const refused = await mounted();
      expect([refused.status, refused.json.code]).to.deep.equal([401, 'invalid_api_key']);
      const headers = { Authorization: `Bearer ${sign({ sub: 'me' }, 'secret')}` };
      expect((await mounted({ headers })).json.user).to.include({ sub: 'me' });
      service.use({ mount: guarded(basicAuth!({ name: 'tj', pass: 'tobi' })) });
      expect((await mounted()).headers['www-authenticate']).to.equal('Basic realm="Secure Area"');
      const basic = `Basic ${Buffer.from('tj:tobi').toString('base64')}`;
      expect((await mounted({ headers: { Authorization: basic } })).status).to.equal(200);
    });

    it('koa-compress, koa-helmet and koa-etag work on the responses of the mount', async () => {
      const text = 'all the same '.repeat(200);
      service.use({
        own: [helmet!(), compress!({ threshold: 0, br: false, zstd: false }), conditionalGet!(), etag!()],
        mount: (ctx) => {
          ctx.body = text;
        },
      });
      const response = await mounted({ headers: { 'Accept-Encoding': 'gzip' } });
      expect(decode(response)).to.equal(text);
      expect(response.headers).to.include({ 'x-frame-options': 'SAMEORIGIN' });
      const again = await mounted({ headers: { 'If-None-Match': response.headers.etag! } });
      expect(again.status).to.equal(304);
    });
  });

  describe('around MCP', () => {
    const call = (body: object, headers: Record<string, string> = {}) =>
      mounted(
        {
          method: 'POST',
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
          headers: {
            Authorization: `Bearer ${service.key}`,
            'Content-Type': 'application/json',
            Accept: 'application/json, text/event-stream',
            ...headers,
          },
        },
        '/mcp',
      );
    const tool = async (name: string, headers: Record<string, string> = {}) => {
      const response = await call({ method: 'tools/call', params: { name, arguments: {} } }, headers);
      const text = decode(response);
      const json = text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)![1]!;
      return { ...JSON.parse(json).result, headers: response.headers } as {
        content: { text: string }[];
        isError?: boolean;
        headers: TestResponse['headers'];
      };
    };

    it('a tool returns the body of its endpoint', async () => {
      expect((await tool('list_things')).content[0]!.text).to.equal(plain['/things']!.text);
    });

    it("a tool is rejected by the plugin's middleware, as over HTTP", async () => {
      use('own', (ctx, next) => (ctx.get('X-Tenant') === 'a' ? next() : ctx.throw(403, 'Not your tenant.')));
      expect((await service.get('/things')).status).to.equal(403);
      const refused = await tool('list_things');
      expect([refused.isError, refused.content[0]!.text]).to.deep.equal([true, 'Not your tenant. (forbidden)']);
      expect((await tool('list_things', { 'X-Tenant': 'a' })).content[0]!.text).to.equal(plain['/things']!.text);
    });

    it('koa-helmet and koa-response-time work on MCP responses, and koa-compress skips event streams', async () => {
      use('around', responseTime!(), helmet!(), compress!({ threshold: 0, br: false, zstd: false }));
      const { content, headers } = await tool('list_things', { 'Accept-Encoding': 'gzip' });
      expect(content[0]!.text).to.equal(plain['/things']!.text);
      expect(headers).to.include({ 'x-frame-options': 'SAMEORIGIN' });
      // The event stream has `Cache-Control: no-transform`, so it must not be compressed.
      expect(headers).to.not.have.property('content-encoding');
      expect(headers).to.include.keys('x-response-time');
    });
  });
});
