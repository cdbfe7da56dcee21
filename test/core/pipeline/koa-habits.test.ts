import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import { request, type TestResponse } from '../../support/http-client.js';
import { type MiddlewareApp, startMiddlewareApp } from '../../support/middleware-app.js';

const bodyOf = ({ text }: TestResponse): unknown => JSON.parse(text);
const errorOf = ({ status, text }: TestResponse): unknown[] => [status, ...Object.values(JSON.parse(text) as object)];

describe('Koa behaviour', () => {
  let service: MiddlewareApp;
  before(async () => {
    service = await startMiddlewareApp();
  });
  afterEach(() => service.use({}));
  after(() => service.close());

  const PLACES = ['own', 'around'] as const;
  const run = (place: (typeof PLACES)[number], ...middleware: Middleware[]) => service.use({ [place]: middleware });

  const twice = async (path: string, headers: Record<string, string> = {}): Promise<TestResponse[]> => [
    await service.get(path, { headers }),
    await service.get(path, { headers }),
  ];
  let id = 0;
  const newThing = () => `/things/${++id}`;

  for (const place of PLACES) {
    describe(place === 'own' ? "in a plugin's own middleware" : 'around the whole service', () => {
      for (const [thrown, expected, logged] of [
        [[403], [403, 'Forbidden', 'forbidden'], 0],
        [[403, 'Not for you.'], [403, 'Not for you.', 'forbidden'], 0],
        [[404], [404, 'Not Found', 'route_not_found'], 0],
        [[400, 'name required'], [400, 'name required', 'invalid_parameter'], 0],
        [[410], [410, 'Gone', 'gone'], 0],
        [[418], [418, "I'm a Teapot", 'i_m_a_teapot'], 0],
        [[429, 'Slower.'], [429, 'Slower.', 'rate_limited'], 0],
        [[500, 'a secret'], [500, /^Something went wrong/, 'internal_error'], 1],
        [[502, 'a secret'], [502, /^Something went wrong/, 'bad_gateway'], 1],
        [[503, 'a secret'], [503, /^The service cannot answer/, 'service_unavailable'], 1],
      ] as [[number, string?], [number, string | RegExp, string], number][]) {
        it(`ctx.throw(${thrown.map((each) => JSON.stringify(each)).join(', ')}) is ${expected[0]} ${expected[2]}`, async () => {
          run(place, (ctx) => ctx.throw(...(thrown as [number, string])));
          const before = service.logger.lines.length;
          const response = await service.get(newThing());
          const [status, sentence, code] = errorOf(response);
          expect([status, code]).to.deep.equal([expected[0], expected[2]]);
          if (typeof expected[1] === 'string') expect(sentence).to.equal(expected[1]);
          else expect(sentence).to.match(expected[1]);
          expect(response.headers).to.include({
            'content-type': 'application/json; charset=utf-8',
            'cache-control': 'no-store',
            'x-content-type-options': 'nosniff',
          });
          expect(response.headers).to.include.keys('x-request-id', 'access-control-allow-origin');
          const lines = service.logger.lines.slice(before).filter((line) => /^(warn|error)/.test(line));
          expect(lines).to.have.length(logged);
        });
      }

      it('ctx.assert, and errors with a status and headers, set the status and headers', async () => {
        run(place, (ctx) =>
          ctx.assert(false, 422, 'No user.', { headers: { 'X-Why': 'none', 'Content-Type': 'x/y' } }),
        );
        const asserted = await service.get(newThing());
        expect(errorOf(asserted)).to.deep.equal([422, 'No user.', 'unprocessable_entity']);
        expect(asserted.headers).to.include({ 'x-why': 'none', 'content-type': 'application/json; charset=utf-8' });
        run(place, () => {
          throw Object.assign(new Error('hidden'), { status: 409 });
        });
        expect(errorOf(await service.get(newThing()))).to.deep.equal([
          409,
          'The request was rejected: Conflict.',
          'conflict',
        ]);
      });

      it('throwing a non-error status or a value that is not an Error is an internal error', async () => {
        for (const thrown of [
          Object.assign(new Error('x'), { status: 204 }),
          'text',
          undefined,
          null,
          { status: 403 },
        ]) {
          run(place, () => {
            throw thrown;
          });
          expect(errorOf(await service.get(newThing())).at(2), String(thrown)).to.equal('internal_error');
        }
      });

      it('body, type, length, status and headers of JSON can be read after next()', async () => {
        const seen: unknown[] = [];
        run(place, async (ctx, next) => {
          await next();
          seen.push([ctx.status, ctx.type, ctx.length, ctx.body, ctx.response.get('ETag'), ctx.message]);
        });
        const path = newThing();
        const responses = await twice(path);
        for (const [i, { status, text, headers }] of responses.entries()) {
          expect(seen[i]).to.deep.equal([
            status,
            'application/json',
            text.length,
            JSON.parse(text),
            headers.etag,
            'OK',
          ]);
        }
        expect(seen).to.have.length(2);
      });

      it('body, type and length of CSV can be read after next()', async () => {
        const seen: unknown[] = [];
        run(place, async (ctx, next) => {
          await next();
          seen.push([ctx.type, ctx.length, ctx.body]);
        });
        for (const [i, { text }] of (await twice('/things?format=csv')).entries()) {
          expect(seen[i]).to.deep.equal(['text/csv', text.length, text]);
        }
      });

      it('reading the body changes neither bytes, nor compression, nor 304s', async () => {
        for (const path of ['/things', '/things?format=csv', newThing(), '/now']) {
          const plain = await service.get(path);
          const packed = await service.get(path, { headers: { 'Accept-Encoding': 'br' } });
          run(place, async (ctx, next) => {
            await next();
            void ctx.body;
            void ctx.type;
          });
          const read = await service.get(path);
          const { 'content-length': length, etag, vary, 'last-modified': modified } = plain.headers;
          expect(read.text).to.equal(plain.text);
          expect(read.headers).to.include({ 'content-length': length, etag, vary, 'last-modified': modified });
          const readPacked = await service.get(path, { headers: { 'Accept-Encoding': 'br' } });
          expect(readPacked.bytes.equals(packed.bytes)).to.equal(true);
          expect(readPacked.headers.etag).to.equal(packed.headers.etag);
          for (const tag of [etag!, packed.headers.etag!]) {
            const again = await service.get(path, { headers: { 'If-None-Match': tag, 'Accept-Encoding': 'br' } });
            expect([again.status, again.text, again.headers.etag]).to.deep.equal([304, '', packed.headers.etag]);
            expect(again.headers).to.not.have.any.keys('content-type', 'content-length', 'content-encoding');
          }
          service.use({});
        }
      });

      it('headers can be set, changed and removed before and after next()', async () => {
        run(place, async (ctx, next) => {
          ctx.set('X-Before', '1');
          ctx.vary('X-Before');
          await next();
          ctx.set('X-After', '2');
          ctx.set('Cache-Control', 'public, max-age=60');
          ctx.remove('Last-Modified');
          ctx.append('Link', '</next>; rel="next"');
        });
        for (const headers of [{}, { 'Accept-Encoding': 'gzip' }]) {
          for (const response of await twice('/things', headers)) {
            expect(response.status).to.equal(200);
            expect(response.headers).to.include({
              'x-before': '1',
              'x-after': '2',
              'cache-control': 'public, max-age=60',
              link: '</next>; rel="next"',
            });
            expect(response.headers).to.not.have.property('last-modified');
            expect(response.headers.vary).to.equal('X-Before, Accept, Accept-Encoding');
            const bytes = 'Accept-Encoding' in headers ? gunzipSync(response.bytes) : response.bytes;
            expect(JSON.parse(bytes.toString())).to.have.property('data');
            const again = await service.get('/things', {
              headers: { ...headers, 'If-None-Match': response.headers.etag! },
            });
            expect([again.status, again.text]).to.deep.equal([304, '']);
            expect(again.headers).to.include({ 'x-after': '2', 'cache-control': 'public, max-age=60' });
          }
        }
      });

      it('if the ETag is removed, there is no 304', async () => {
        const { headers } = await service.get('/things');
        run(place, async (ctx, next) => {
          await next();
          ctx.remove('ETag');
        });
        const response = await service.get('/things', { headers: { 'If-None-Match': headers.etag! } });
        expect(response.status).to.equal(200);
        expect(response.headers).to.not.have.property('etag');
      });

      it('a body that is wrapped, replaced or changed in place loses the validators of the first body', async () => {
        const changes: [Middleware, (body: unknown) => unknown][] = [
          [
            (ctx) => {
              ctx.body = { wrapped: ctx.body };
            },
            (body) => ({ wrapped: body }),
          ],
          [
            (ctx) => {
              ctx.body = { other: true };
            },
            () => ({ other: true }),
          ],
          [(ctx) => void Object.assign(ctx.body as object, { more: 1 }), (body) => ({ ...(body as object), more: 1 })],
          [
            (ctx) => {
              ctx.body = JSON.stringify([ctx.body]);
            },
            (body) => [body],
          ],
          [
            (ctx) => {
              ctx.body = Buffer.from('"bytes"');
            },
            () => 'bytes',
          ],
          [
            (ctx) => {
              ctx.body = Readable.from(['{"a":', '1}']);
            },
            () => ({ a: 1 }),
          ],
        ];
        for (const [change, expected] of changes) {
          const path = newThing();
          service.use({});
          const plain = await service.get(path);
          run(place, async (ctx, next) => {
            await next();
            await change(ctx, next);
          });
          for (const headers of [{}, { 'If-None-Match': plain.headers.etag! }, { 'Accept-Encoding': 'br' }]) {
            const response = await service.get(path, { headers });
            expect(response.status).to.equal(200);
            expect(bodyOf(response)).to.deep.equal(expected(plain.json));
            expect(response.headers['content-type']).to.equal('application/json; charset=utf-8');
            expect(response.headers).to.not.have.any.keys('etag', 'last-modified', 'content-encoding');
          }
          service.use({});
          const after = await service.get(path);
          expect(after.text, 'the cached representation stays as it was').to.equal(plain.text);
        }
      });

      it('a text body can be replaced with other text', async () => {
        run(place, async (ctx, next) => {
          await next();
          ctx.body = (ctx.body as string).toUpperCase();
        });
        for (const { text, headers } of await twice('/things?format=csv')) {
          expect(text).to.match(/^ID,NAME\r\n1,THING NUMBER 1\r\n/);
          expect(headers['content-type']).to.match(/^text\/csv/);
          expect(headers['content-length']).to.equal(String(text.length));
        }
      });

      it('a status can be set after next(), with the same body or a different one', async () => {
        run(place, async (ctx, next) => {
          await next();
          ctx.status = 203;
        });
        for (const response of await twice(newThing()))
          expect([response.status, response.json.id]).to.deep.equal([203, id]);
        run(place, async (ctx, next) => {
          await next();
          ctx.res.statusCode = 203;
        });
        const path = newThing();
        for (const response of await twice(path)) expect([response.status, response.json.id]).to.deep.equal([203, id]);
        for (const empty of [
          (ctx: Context) => {
            ctx.status = 204;
          },
          (ctx: Context) => {
            ctx.body = null;
          },
        ]) {
          run(place, async (ctx, next) => {
            await next();
            empty(ctx as Context);
          });
          const response = await service.get('/things?format=csv');
          expect([response.status, response.text]).to.deep.equal([204, '']);
          expect(response.headers).to.not.have.any.keys('content-type', 'content-length');
        }
      });

      it('middleware that neither responds nor calls next() gives a 404', async () => {
        run(place, () => undefined);
        expect(errorOf(await service.get(newThing()))).to.deep.equal([
          404,
          'There is nothing at this address. openapi.json lists all endpoints.',
          'route_not_found',
        ]);
      });

      it('middleware that responds needs no next()', async () => {
        const answers: [unknown, string, string][] = [
          ['text', 'text/plain; charset=utf-8', 'text'],
          ['<p>', 'text/html; charset=utf-8', '<p>'],
          [Buffer.from('bytes'), 'application/octet-stream', 'bytes'],
          [{ a: 1 }, 'application/json; charset=utf-8', '{"a":1}'],
          [Readable.from(['str', 'eam']), 'application/octet-stream', 'stream'],
          [new Blob(['blob'], { type: 'image/png' }), 'image/png', 'blob'],
          [new Response('web', { headers: { 'Content-Type': 'text/x-web' } }), 'text/x-web', 'web'],
        ];
        for (const [body, type, text] of answers) {
          run(place, (ctx) => {
            ctx.body = body;
          });
          const response = await service.get(newThing());
          expect([response.status, response.headers['content-type'], response.text]).to.deep.equal([200, type, text]);
          expect(response.headers).to.include.keys('x-request-id', 'content-security-policy');
        }
      });

      it('a stream is sent, and the error of a failing stream is not shown', async () => {
        run(place, (ctx) => {
          ctx.type = 'json';
          ctx.body = createReadStream('package.json');
        });
        expect((await service.get(newThing())).json).to.have.property('name', 'metro-forecast-api');
        run(place, (ctx) => {
          ctx.body = createReadStream('/no/such/file');
        });
        const response = await service.get(newThing()).catch(() => undefined);
        expect(response?.text ?? '').to.not.contain('such');
        service.use({});
        expect((await service.get(newThing())).status).to.equal(200);
      });

      it('an error status without a body gets the error body, and keeps a body that is set', async () => {
        run(place, (ctx) => {
          ctx.status = 403;
        });
        expect(errorOf(await service.get(newThing()))).to.deep.equal([
          403,
          'The request was rejected: Forbidden.',
          'forbidden',
        ]);
        run(place, (ctx) => {
          ctx.status = 403;
          ctx.body = { mine: true };
        });
        const response = await service.get(newThing());
        expect([response.status, response.json]).to.deep.equal([403, { mine: true }]);
      });

      it('redirects, cookies and attachments work', async () => {
        run(place, (ctx) => {
          ctx.cookies.set('seen', 'yes', { signed: false });
          ctx.redirect('/elsewhere');
        });
        const redirected = await service.get(newThing());
        expect([redirected.status, redirected.headers.location]).to.deep.equal([302, '/elsewhere']);
        expect(redirected.headers['set-cookie']).to.deep.equal(['seen=yes; path=/; httponly']);
        run(place, async (ctx, next) => {
          await next();
          ctx.attachment('things.csv');
        });
        const attached = await service.get('/things?format=csv');
        expect(attached.headers['content-disposition']).to.equal('attachment; filename="things.csv"');
        expect(attached.text).to.match(/^id,name/);
      });

      it('a body that cannot be serialized as JSON is an internal error', async () => {
        run(place, (ctx) => {
          const circle: Record<string, unknown> = {};
          circle['itself'] = circle;
          ctx.body = circle;
        });
        expect(errorOf(await service.get(newThing())).at(2)).to.equal('internal_error');
      });

      it('thrown errors are emitted on app.koa', async () => {
        const told: unknown[] = [];
        const listener = (error: Error, ctx: Context) => told.push([error.message, ctx.path]);
        service.app.koa.on('error', listener);
        run(place, (ctx) => ctx.throw(409, 'Twice.'));
        const path = newThing();
        await service.get(path);
        service.app.koa.off('error', listener);
        expect(told).to.deep.equal([['Twice.', `/api/v1${path}`]]);
      });

      it('calling next() twice is an internal error', async () => {
        run(place, async (_ctx, next) => {
          await next();
          await next();
        });
        expect((await service.get(newThing())).json.code).to.equal('internal_error');
      });

      it('ctx.state keeps properties of middleware, and HEAD has headers only', async () => {
        run(
          place,
          (ctx, next) => {
            ctx.state['user'] = 'someone';
            return next();
          },
          async (ctx, next) => {
            await next();
            ctx.set('X-User', String(ctx.state['user']));
          },
        );
        const path = newThing();
        const get = await service.get(path);
        const head = await service.get(path, { method: 'HEAD' });
        expect(get.headers['x-user']).to.equal('someone');
        expect([head.status, head.text, head.headers['content-length'], head.headers['x-user']]).to.deep.equal([
          200,
          '',
          String(get.text.length),
          'someone',
        ]);
      });

      it('middleware that sets ctx.respond = false can write the whole response', async () => {
        run(place, (ctx) => {
          ctx.respond = false;
          ctx.res.writeHead(200, { 'Content-Type': 'text/x-own' });
          ctx.res.end('own');
        });
        const response = await service.get(newThing());
        expect([response.status, response.text, response.headers['content-type']]).to.deep.equal([
          200,
          'own',
          'text/x-own',
        ]);
        expect(response.headers).to.include.keys('x-request-id');
      });

      it('an error after the first write closes this connection only', async () => {
        run(place, async (ctx) => {
          ctx.respond = false;
          ctx.res.writeHead(200, { 'Content-Length': '100' });
          ctx.res.write('a part');
          throw new Error('on the way');
        });
        expect(await service.get(newThing()).catch((error: NodeJS.ErrnoException) => error.code)).to.equal(
          'ECONNRESET',
        );
        service.use({});
        expect((await service.get(newThing())).status).to.equal(200);
      });

      it('awaits asynchronous middleware', async () => {
        run(place, async (ctx, next) => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          await next();
          await new Promise((resolve) => setTimeout(resolve, 5));
          ctx.set('X-Late', 'yes');
        });
        expect((await service.get(newThing())).headers).to.include({ 'x-late': 'yes' });
      });
    });
  }

  describe("in a plugin's own middleware", () => {
    it('errors of the route have status and expose, as in http-errors', async () => {
      service.use({
        own: [
          async (ctx, next) => {
            try {
              await next();
            } catch (error) {
              const { status, statusCode, expose, message } = error as Error & Record<string, unknown>;
              ctx.status = status as number;
              ctx.body = { statusCode, expose, message };
            }
          },
        ],
      });
      const { status, json } = await service.get('/things/1000');
      expect([status, json]).to.deep.equal([
        404,
        { statusCode: 404, expose: true, message: 'There is no such thing.' },
      ]);
    });

    it('errors of the route can be caught', async () => {
      service.use({
        own: [
          async (ctx, next) => {
            try {
              await next();
            } catch (error) {
              ctx.body = { caught: (error as Error).message };
            }
          },
        ],
      });
      expect((await service.get('/things/1000')).json).to.deep.equal({ caught: 'There is no such thing.' });
    });

    it('has ctx.params, as in @koa/router', async () => {
      service.use({
        own: [
          (ctx) => {
            ctx.body = ctx['params'];
          },
        ],
      });
      expect((await service.get('/things/7')).json).to.deep.equal({ id: '7' });
    });

    it('does not run for other plugins, wrong keys and invalid input', async () => {
      let reached = 0;
      service.use({
        own: [
          (_ctx, next) => {
            reached++;
            return next();
          },
        ],
      });
      expect((await service.get('/markets')).status).to.equal(200);
      expect((await service.get('/things', { headers: { Authorization: 'Bearer wrong' } })).status).to.equal(401);
      expect((await service.get('/things/x')).status).to.equal(400);
      expect(reached).to.equal(0);
    });
  });

  describe('around the whole service', () => {
    const headerOn = async (paths: readonly [string, number, object?][]): Promise<void> => {
      for (const [path, expected, given = {}] of paths) {
        const { status, headers } = await service.get(path, given);
        expect([status, headers['x-around']], path).to.deep.equal([expected, '1']);
        expect(headers, path).to.include.keys('x-request-id');
      }
    };

    it('a header can be set on every response: 200, 304, 400, 401, 404, 405, 406, OPTIONS, mounts', async () => {
      const { headers } = await service.get('/markets');
      const none = { headers: { Authorization: '' } };
      for (const around of [
        (async (ctx, next) => {
          await next();
          ctx.set('X-Around', '1');
        }) as Middleware,
        ((ctx, next) => {
          ctx.set('X-Around', '1');
          return next();
        }) as Middleware,
      ]) {
        service.use({ around: [around] });
        await headerOn([
          ['/markets', 200],
          ['/markets', 304, { headers: { 'If-None-Match': headers.etag! } }],
          ['/movers?limit=x', 400],
          ['/markets', 401, none],
          ['/nowhere', 404],
          ['/markets', 405, { method: 'POST' }],
          ['/markets', 406, { headers: { Accept: 'text/html' } }],
          ['/markets', 204, { method: 'OPTIONS' }],
          ['/status', 200, none],
          ['/health', 200, none],
        ]);
        const mount = await request(`${service.origin}/mount`);
        expect([mount.status, mount.headers['x-around']]).to.deep.equal([404, '1']);
      }
    });

    it('status and body of errors can be read and changed after next()', async () => {
      const seen: unknown[] = [];
      service.use({
        around: [
          async (ctx, next) => {
            await next();
            seen.push([ctx.status, ctx.type, (ctx.body as { code: string }).code]);
            if (ctx.status === 404) ctx.body = { ...(ctx.body as object), help: 'https://example.com/help' };
          },
        ],
      });
      const { status, json, headers } = await service.get('/nowhere');
      expect([status, json.code, json.help]).to.deep.equal([404, 'route_not_found', 'https://example.com/help']);
      expect(headers).to.include.keys('ratelimit', 'x-request-id');
      expect((await service.get('/markets', { headers: { Authorization: '' } })).json.code).to.equal('missing_api_key');
      expect(seen).to.deep.equal([
        [404, 'application/json', 'route_not_found'],
        [401, 'application/json', 'missing_api_key'],
      ]);
    });

    it('a path can be rewritten before the endpoint is found', async () => {
      service.use({
        around: [
          (ctx, next) => {
            if (ctx.path === '/old/markets') ctx.path = '/api/v1/markets';
            return next();
          },
        ],
      });
      const { status, json } = await request(`${service.origin}/old/markets`, {
        headers: { Authorization: `Bearer ${service.key}` },
      });
      expect([status, json.data.length]).to.deep.equal([200, 4]);
    });

    it('app.koa.use() adds middleware after plugins’ serviceMiddleware, until the first request', async () => {
      const other = await startMiddlewareApp();
      try {
        const order: string[] = [];
        other.use({
          around: [
            (_ctx, next) => {
              order.push('plugin');
              return next();
            },
          ],
        });
        const returned = other.app.koa.use((ctx, next) => {
          order.push('program');
          ctx.set('X-Program', String(ctx.app === other.app.koa));
          return next();
        });
        expect(returned).to.equal(other.app.koa);
        expect(() => other.app.koa.use('no function' as never)).to.throw(TypeError);
        const { headers } = await other.get('/things');
        expect(headers['x-program']).to.equal('true');
        expect(order).to.deep.equal(['plugin', 'program']);
        expect(() => other.app.koa.use(() => undefined)).to.throw(/before the first request/);
      } finally {
        await other.close();
      }
    });

    it('ctx.ip is the client’s address behind trusted proxies', async () => {
      const headers = { 'X-Forwarded-For': '192.0.2.1, 198.51.100.7' };
      for (const [trustProxy, ip] of [
        [0, '127.0.0.1'],
        [1, '198.51.100.7'],
        [2, '192.0.2.1'],
        [['127.0.0.0/8', '198.51.100.0/24'], '192.0.2.1'],
        [['127.0.0.1'], '198.51.100.7'],
        [['198.51.100.0/24'], '127.0.0.1'],
      ] as const) {
        const other = await startMiddlewareApp({ server: { port: 0, trustProxy } });
        other.use({
          around: [
            (ctx) => {
              ctx.body = { ip: ctx.ip };
            },
          ],
        });
        expect((await other.get('/things', { headers })).json).to.deep.equal({ ip });
        await other.close();
      }
    });

    it('ctx.host is X-Forwarded-Host of trusted proxies only', async () => {
      for (const [trustProxy, host] of [
        [0, 'own.test'],
        [1, 'other.test'],
        [['127.0.0.0/8'], 'other.test'],
        [['10.0.0.0/8'], 'own.test'],
      ] as const) {
        const other = await startMiddlewareApp({ server: { port: 0, trustProxy } });
        other.use({
          around: [
            (ctx) => {
              ctx.body = { host: ctx.host };
            },
          ],
        });
        const headers = { Host: 'own.test', 'X-Forwarded-Host': 'other.test' };
        const { body } = await other.app.inject({ url: '/api/v1/things', headers, remoteAddress: '127.0.0.1' });
        expect(JSON.parse(body)).to.deep.equal({ host });
        await other.close();
      }
    });

    it('inject() and callback() run the same middleware', async () => {
      service.use({
        around: [
          async (ctx, next) => {
            await next();
            ctx.set('X-Around', '1');
          },
        ],
      });
      const headers = { Authorization: `Bearer ${service.key}`, 'Accept-Encoding': 'br' };
      const plain = await service.get('/things');
      const injected = await service.app.inject({ url: '/api/v1/things', headers });
      expect([injected.statusCode, injected.headers['x-around']]).to.deep.equal([200, '1']);
      expect(brotliDecompressSync(injected.rawPayload).toString()).to.equal(plain.text);
      const again = await service.app.inject({
        url: '/api/v1/things',
        headers: { ...headers, 'If-None-Match': String(injected.headers['etag']) },
      });
      expect([again.statusCode, again.payload]).to.deep.equal([304, '']);
      const refused = await service.app.inject({ url: '/api/v1/things' });
      expect([refused.statusCode, refused.headers['x-around'], refused.json().code]).to.deep.equal([
        401,
        '1',
        'missing_api_key',
      ]);
    });
  });

  describe('in a mount', () => {
    const mounted = (given: object = {}, path = '/mount') => request(`${service.origin}${path}`, given);

    it('ctx.body is the response, and the default is 404', async () => {
      service.use({
        mount: (ctx) => {
          ctx.body = 'x';
        },
      });
      const { status, text, headers } = await mounted();
      expect([status, text, headers['content-type']]).to.deep.equal([200, 'x', 'text/plain; charset=utf-8']);
      service.use({ mount: () => undefined });
      expect(errorOf(await mounted()).at(2)).to.equal('route_not_found');
      service.use({ mount: (_ctx, next) => next() });
      expect(errorOf(await mounted()).at(2)).to.equal('route_not_found');
    });

    it('streams, objects, errors, assertions and statuses work as in plain Koa', async () => {
      service.use({
        mount: (ctx) => {
          ctx.body = Readable.from(['a', 'b']);
        },
      });
      expect((await mounted()).text).to.equal('ab');
      service.use({
        mount: (ctx) => {
          ctx.body = { a: 1 };
        },
      });
      expect((await mounted()).json).to.deep.equal({ a: 1 });
      service.use({ mount: (ctx) => ctx.throw(403, 'Not here.', { headers: { 'X-Why': 'so' } }) });
      const refused = await mounted();
      expect(errorOf(refused)).to.deep.equal([403, 'Not here.', 'forbidden']);
      expect(refused.headers).to.include({ 'x-why': 'so' });
      service.use({
        mount: (ctx) => {
          ctx.status = 201;
          ctx.set('Location', '/mount/1');
        },
      });
      const created = await mounted({ method: 'POST' });
      expect([created.status, created.text, created.headers.location]).to.deep.equal([201, 'Created', '/mount/1']);
    });

    it("a plugin's middleware runs around its mounts and sees their bodies", async () => {
      service.use({
        mount: (ctx) => {
          ctx.body = { inner: true };
        },
        own: [
          async (ctx, next) => {
            await next();
            ctx.body = { outer: ctx.body };
          },
        ],
      });
      expect((await mounted()).json).to.deep.equal({ outer: { inner: true } });
      service.use({
        mount: (ctx) => {
          ctx.body = 'x';
        },
        own: [(ctx) => ctx.throw(403)],
      });
      expect((await mounted()).status).to.equal(403);
    });

    it('composed middleware can be a handler', async () => {
      service.use({
        mount: compose([
          async (ctx: Context, next) => {
            await next();
            ctx.set('X-Outer', '1');
          },
          (ctx: Context) => {
            ctx.body = 'inner';
          },
        ]) as Middleware,
      });
      const { text, headers } = await mounted();
      expect([text, headers['x-outer']]).to.deep.equal(['inner', '1']);
    });

    it('the body of a POST can be read, even with Expect: 100-continue', async () => {
      service.use({
        mount: async (ctx) => {
          const chunks: Buffer[] = [];
          for await (const chunk of ctx.req) chunks.push(chunk as Buffer);
          ctx.body = Buffer.concat(chunks).toString();
        },
      });
      for (const headers of [{ 'Content-Length': '5' }, { 'Content-Length': '5', Expect: '100-continue' }]) {
        expect((await mounted({ method: 'POST', body: 'hello', headers })).text).to.equal('hello');
      }
    });
  });

  describe('inner requests of a mount', () => {
    const askingFor = (target: string): Middleware =>
      (async (ctx: Context, mount: { request(target: string): Promise<unknown> }) => {
        ctx.body = await mount.request(target);
      }) as unknown as Middleware;
    const ask = async (target: string, headers: Record<string, string> = {}) => {
      service.use({ ...service.chosen, mount: askingFor(target) });
      return (await request(`${service.origin}/mount`, { headers })).json as { status: number; body: string };
    };

    it('are rejected by the same middleware as over HTTP', async () => {
      service.use({
        own: [(ctx, next) => (ctx.get('X-Secret') === 'word' || ctx.path === '/mount' ? next() : ctx.throw(403))],
      });
      expect((await service.get('/things')).status).to.equal(403);
      const refused = await ask('/things');
      expect([refused.status, JSON.parse(refused.body).code]).to.deep.equal([403, 'forbidden']);
      expect((await ask('/things', { 'X-Secret': 'word' })).status).to.equal(200);
      service.use({ around: [(ctx, next) => (ctx.path.endsWith('/things/3') ? ctx.throw(410) : next())] });
      expect((await ask('/things/3')).status).to.equal(410);
      expect((await ask('/things/4')).status).to.equal(200);
    });

    it('get the same body as over HTTP, uncompressed', async () => {
      const { text } = await service.get('/things');
      for (const headers of [
        {},
        { 'Accept-Encoding': 'br', 'If-None-Match': '*', Accept: 'text/html', Range: 'bytes=0-1' },
      ]) {
        expect(await ask('/things', headers)).to.include({ status: 200, body: text });
      }
      expect((await ask('/things/1000')).status).to.equal(404);
      expect((await ask('/things/x')).status).to.equal(400);
      expect((await ask('/nowhere')).status).to.equal(404);
    });

    it('are neither counted nor logged', async () => {
      const { key } = await service.newKey({ limit_per_minute: 3 });
      const headers = { Authorization: `Bearer ${key}` };
      const lines = () => service.logger.lines.filter((line) => line.includes('request')).length;
      const before = lines();
      for (let i = 0; i < 3; i++) expect((await ask('/things', headers)).status).to.equal(200);
      expect(lines() - before).to.equal(3);
    });
  });
});
