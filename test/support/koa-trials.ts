/** Requests to which a service and a plain Koa application must respond identically, for each Koa package. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { packageRoot } from '../../core/util/package.js';
import type { TestRequest } from './http-client.js';

const require = createRequire(import.meta.url);

/** An expected difference between the service and plain Koa. The test fails if there is no difference. */
interface Difference {
  readonly because: string;
  /** The headers that may differ. By default, everything except the status may differ. */
  readonly headers?: readonly string[];
}

export interface TrialRequest extends TestRequest {
  readonly path: string;
  readonly differs?: Difference;
}

export interface Trial {
  readonly add: (app: Koa, log: string[], upstream: string) => void;
  readonly sees?: (ctx: Context) => unknown;
  readonly requests?: readonly TrialRequest[];
  /** Response headers with random values or times. The test compares only their names. */
  readonly random?: readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: the packages have options of any shape
const load = (name: string): any => {
  const module = require(name);
  return module.default ?? module;
};

const THROWN: Difference = {
  because: 'The service responds to an error with its own error body, Koa with plain text.',
};
const WEAK: Difference = { because: 'A strong ETag must not be shared by different bytes.', headers: ['etag'] };
const NO_BODY: Difference = { because: 'The service adds its error body to error responses without a body.' };
const NO_RANGES: Difference = { because: 'The body was replaced by an error body.', headers: ['accept-ranges'] };

const THINGS = '/api/v1/things';
const HELLO = '/hello';
const LICENSE = join(packageRoot, 'LICENSE');
const DOCS = join(packageRoot, 'docs');
const json = { 'Content-Type': 'application/json' };

const at =
  (path: string, respond: (ctx: Context) => unknown): Middleware =>
  async (ctx, next) => {
    if (ctx.path === path) await respond(ctx);
    else await next();
  };

const only =
  (path: string, middleware: Middleware): Middleware =>
  (ctx, next) =>
    ctx.path === path ? middleware(ctx, next) : next();

const lines = (log: string[]) =>
  new Writable({
    write(chunk, _encoding, done) {
      log.push(String(chunk));
      done();
    },
  });

const using =
  (name: string, ...options: unknown[]): Trial['add'] =>
  (app) =>
    app.use(load(name)(...options));

const stores = (): Record<'get' | 'set', (...args: never[]) => unknown> => {
  const stored = new Map<string, unknown>();
  return {
    get: (key: string) => stored.get(key),
    set: (key: string, value: unknown) => void stored.set(key, value),
  };
};

const header: Readonly<Record<string, Trial>> = {
  'koa-helmet': { add: using('koa-helmet') },
  'koa-response-time': { add: using('koa-response-time'), random: ['x-response-time'] },
  '@koa/cors': {
    add: using('@koa/cors', { origin: 'https://only.example', credentials: true, exposeHeaders: 'X-Thing' }),
    requests: [
      { path: THINGS, headers: { Origin: 'https://only.example' } },
      {
        path: THINGS,
        method: 'OPTIONS',
        headers: { Origin: 'https://only.example', 'Access-Control-Request-Method': 'GET' },
      },
    ],
  },
  'koa-cache-control': { add: using('koa-cache-control', { public: true, maxAge: 60 }) },
  'koa-requestid': {
    add: using('koa-requestid'),
    sees: (ctx) => typeof ctx.state['id'],
    requests: [{ path: THINGS, headers: { 'Request-Id': 'mine' } }],
    random: ['request-id'],
  },
  'koa-sslify': {
    add: (app) => app.use(load('koa-sslify')({ resolver: require('koa-sslify').xForwardedProtoResolver })),
    requests: [
      { path: THINGS, headers: { 'X-Forwarded-Proto': 'https' } },
      { path: THINGS, method: 'POST' },
    ],
  },
  'koa-convert': {
    add: using('koa-convert', function* (this: Context, next: Generator) {
      this.set('X-Before', 'yes');
      yield next;
      this.set('X-After', String(this.status));
    }),
  },
  'koa-unless': {
    add(app) {
      const middleware: Middleware & { unless?: unknown } = (ctx, next) => {
        ctx.set('X-Chosen', 'yes');
        return next();
      };
      middleware.unless = load('koa-unless');
      app.use((middleware.unless as (options: object) => Middleware)({ path: [THINGS] }));
    },
  },
  'koa-connect': {
    add: using(
      'koa-connect',
      (
        { url }: { url: string },
        response: { setHeader(name: string, value: string): void; end(text: string): void },
        next: () => void,
      ) => {
        response.setHeader('X-Connect', 'yes');
        if (url === HELLO) response.end('hello');
        else next();
      },
    ),
    requests: [{ path: HELLO }],
  },
};

const body: Readonly<Record<string, Trial>> = {
  'koa-compress': {
    add: using('koa-compress', { threshold: 0, br: false, zstd: false }),
    requests: [{ path: THINGS, headers: { 'Accept-Encoding': 'gzip' }, differs: WEAK }],
  },
  'koa-conditional-get': { add: using('koa-conditional-get') },
  'koa-etag': { add: using('koa-etag') },
  'koa-json': {
    add(app) {
      app.use(load('koa-json')({ pretty: false, param: 'pretty' }));
      app.use(at(HELLO, (ctx) => (ctx.body = { hello: ['world'] })));
    },
    requests: [{ path: HELLO }, { path: `${HELLO}?pretty` }],
  },
  'koa-range': {
    add: (app) => app.use(load('koa-range')),
    requests: [
      { path: `${THINGS}?format=csv`, headers: { Range: 'bytes=0-9' } },
      { path: `${THINGS}?format=csv`, headers: { Range: 'lines=1' }, differs: NO_BODY },
      { path: `${THINGS}/1000`, differs: NO_RANGES },
      { path: `${THINGS}/x`, differs: NO_RANGES },
      { path: '/nowhere', differs: NO_RANGES },
    ],
  },
  'koa-cash': {
    add(app) {
      app.use(load('koa-cash')(stores()));
      app.use(async (ctx, next) => {
        if (!(await ctx['cashed']())) await next();
      });
    },
    requests: [{ path: THINGS }, { path: THINGS }, { path: `${THINGS}?format=csv` }, { path: `${THINGS}?format=csv` }],
  },
  'koa-favicon': { add: using('koa-favicon', LICENSE), requests: [{ path: '/favicon.ico' }] },
  'koa-send': {
    add: (app) => app.use(at(HELLO, (ctx) => load('koa-send')(ctx, 'README.md', { root: DOCS }))),
    requests: [{ path: HELLO }, { path: HELLO, method: 'HEAD' }],
  },
  'koa-static': { add: using('koa-static', DOCS), requests: [{ path: '/README.md' }, { path: '/none.md' }] },
  'koa-static-cache': {
    add: using('koa-static-cache', DOCS, { prefix: '/pages', gzip: true, maxAge: 60 }),
    requests: [{ path: '/pages/README.md' }, { path: '/pages/README.md', headers: { 'Accept-Encoding': 'gzip' } }],
  },
  'koa-proxies': {
    add: (app, _log, target) => app.use(load('koa-proxies')('/upstream', { target, rewrite: () => '/docs' })),
    requests: [{ path: '/upstream' }],
  },
};

const routing: Readonly<Record<string, Trial>> = {
  '@koa/router': {
    add(app) {
      const router = new (load('@koa/router'))();
      router.get('/hello/:name', (ctx: Context) => (ctx.body = { hello: ctx['params'].name }));
      app.use(router.routes());
      app.use(router.allowedMethods());
    },
    requests: [{ path: '/hello/you' }, { path: '/hello/you', method: 'POST' }],
  },
  'koa-tree-router': {
    add(app) {
      const router = new (load('koa-tree-router'))();
      router.get('/hello/:name', (ctx: Context) => (ctx.body = { hello: ctx['params'].name }));
      app.use(router.routes());
    },
    requests: [{ path: '/hello/you' }],
  },
  'koa-route': {
    add: (app) => app.use(load('koa-route').get('/hello/:name', (ctx: Context, name: string) => (ctx.body = name))),
    requests: [{ path: '/hello/you' }],
  },
  'koa-mount': {
    add: (app) => app.use(load('koa-mount')('/files', load('koa-static')(DOCS))),
    requests: [{ path: '/files/README.md' }, { path: '/files/none.md' }],
  },
  'koa-compose': {
    add: using('koa-compose', [at(HELLO, (ctx) => (ctx.body = 'hello'))]),
    requests: [{ path: HELLO }],
  },
  'koa-rewrite': { add: using('koa-rewrite', '/t/:id', `${THINGS}/:id`), requests: [{ path: '/t/2' }] },
  'koa-remove-trailing-slashes': {
    add: using('koa-remove-trailing-slashes'),
    requests: [{ path: `${THINGS}/` }, { path: `${THINGS}/?format=csv` }],
  },
  'koa-404-handler': {
    add: (app) => app.use(load('koa-404-handler')),
    requests: [
      { path: `${THINGS}/1000`, differs: THROWN },
      { path: '/nowhere', differs: THROWN },
    ],
  },
};

const PARSED: Omit<Trial, 'add'> = {
  sees: (ctx) => (ctx.request as { body?: unknown }).body,
  requests: [
    { path: HELLO, method: 'POST', headers: json, body: '{"a":[1]}' },
    { path: HELLO, method: 'POST', headers: json, body: '{', differs: THROWN },
  ],
};

const input: Readonly<Record<string, Trial>> = {
  '@koa/bodyparser': { add: (app) => app.use(require('@koa/bodyparser').bodyParser()), ...PARSED },
  'koa-body': { add: (app) => app.use(require('koa-body').koaBody()), ...PARSED },
  'koa-qs': {
    add: (app) => void load('koa-qs')(app),
    sees: (ctx) => ctx.query,
    requests: [{ path: `${HELLO}?a[b]=c&d=1&d=2` }],
  },
  'koa-useragent': {
    add: (app) => app.use(require('koa-useragent').userAgent),
    sees: (ctx) => ctx['userAgent'].browser,
    requests: [{ path: THINGS, headers: { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0' } }],
  },
  'koa-locale': {
    add: (app) => void load('koa-locale')(app),
    sees: (ctx) => [ctx['getLocaleFromHeader'](), ctx['getLocaleFromCookie']()],
    requests: [{ path: THINGS, headers: { 'Accept-Language': 'nl', Cookie: 'locale=fr' } }],
  },
  'koa-respond': {
    add(app) {
      app.use(load('koa-respond')());
      app.use(at(HELLO, (ctx) => ctx['created']({ hello: 'world' })));
      app.use(at('/closed', (ctx) => ctx['forbidden']({ closed: true })));
    },
    requests: [{ path: HELLO }, { path: '/closed' }],
  },
};

const callers: Readonly<Record<string, Trial>> = {
  'koa-basic-auth': {
    add: (app) => app.use(only(`${THINGS}/2`, load('koa-basic-auth')({ name: 'tj', pass: 'tobi' }))),
    requests: [{ path: `${THINGS}/2`, differs: THROWN }],
  },
  'koa-jwt': {
    add: using('koa-jwt', { secret: 'secret', passthrough: true, key: 'token', debug: true }),
    sees: (ctx) => [ctx.state['token'] ?? null, String(ctx.state['jwtOriginalError'])],
    requests: [{ path: THINGS, headers: { Authorization: 'Bearer a.b.c' } }],
  },
  'koa-bearer-token': {
    add: (app) => app.use(require('koa-bearer-token').bearerToken()),
    sees: (ctx) => (ctx.request as { token?: string }).token ?? null,
    requests: [
      { path: THINGS, headers: { Authorization: 'Bearer mine' } },
      { path: `${THINGS}?access_token=a`, headers: { Authorization: 'Bearer mine' }, differs: THROWN },
    ],
  },
  'koa-passport': {
    add(app) {
      const passport = load('koa-passport');
      passport.use({
        name: 'header',
        authenticate(this: { success(user: object): void; fail(): void }, { headers }: Context['req']) {
          if (headers['x-user']) this.success({ name: headers['x-user'] });
          else this.fail();
        },
      });
      app.use(passport.initialize());
      app.use(passport.authenticate('header', { session: false }));
    },
    sees: (ctx) => ctx.state['user'],
    requests: [{ path: THINGS, headers: { 'X-User': 'me' } }],
  },
  'koa-session': {
    add(app) {
      app.keys = ['secret'];
      const { get, set } = stores();
      app.use(require('koa-session').createSession({ store: { get, set, destroy: set }, genid: () => 'one' }, app));
    },
    sees(ctx) {
      const { session } = ctx as unknown as { session: { views?: number } };
      session.views = (session.views ?? 0) + 1;
      return session.views;
    },
  },
  'koa-csrf': {
    add(app) {
      const session = {};
      app.use((ctx, next) => {
        ctx['session'] = session;
        return next();
      });
      app.use(new (load('koa-csrf'))());
    },
    sees: (ctx) => typeof ctx.state['_csrf'],
  },
  'koa-ratelimit': {
    add: using('koa-ratelimit', {
      driver: 'memory',
      db: new Map(),
      duration: 60_000,
      max: 1,
      id: ({ app, headers }: Context) => `${app.constructor.name} ${headers['x-caller'] ?? Math.random()}`,
      headers: { remaining: 'Rate-Remaining', reset: 'Rate-Reset', total: 'Rate-Total' },
      errorMessage: 'Slow down.',
    }),
    requests: [
      { path: THINGS, headers: { 'X-Caller': 'a' } },
      { path: THINGS, headers: { 'X-Caller': 'a' } },
    ],
    random: ['rate-reset'],
  },
  'koa-ip': {
    add: (app) => app.use(only(`${THINGS}/2`, load('koa-ip')({ blacklist: ['127.0.0.1'] }))),
    requests: [{ path: `${THINGS}/2`, differs: THROWN }],
  },
};

const fail = at(HELLO, (ctx) => ctx.throw(418, 'Only tea.'));

const errors: Readonly<Record<string, Trial>> = {
  'koa-error': {
    add(app) {
      app.use(load('koa-error')({ accepts: ['json'], env: 'production' }));
      app.use(fail);
    },
    requests: [{ path: HELLO }],
  },
  'koa-json-error': {
    add(app) {
      app.use(
        load('koa-json-error')({
          format: ({ status, message }: { status: number; message: string }) => ({ status, message }),
        }),
      );
      app.use(fail);
    },
    requests: [{ path: HELLO }],
  },
  'koa-onerror': {
    add(app, log) {
      require('koa-onerror').onerror(app);
      app.on('error', ({ status, message }) => status === 418 && log.push(message));
      app.use(fail);
    },
    requests: [{ path: HELLO, headers: { Accept: 'application/json' }, differs: THROWN }],
  },
};

const SERIALIZERS = {
  req: ({ method, url }: TestRequest & { url: string }) => ({ method, url }),
  res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
};

const reporting: Readonly<Record<string, Trial>> = {
  'koa-logger': { add: (app, log) => app.use(load('koa-logger')((line: string) => log.push(line))) },
  'koa-morgan': {
    add: (app, log) => app.use(load('koa-morgan')(':method :url :status :res[content-type]', { stream: lines(log) })),
  },
  'koa-pino-logger': {
    add: (app, log) => app.use(load('koa-pino-logger')({ base: null, serializers: SERIALIZERS }, lines(log))),
  },
};

export const TRIALS: Readonly<Record<string, Trial>> = {
  ...header,
  ...body,
  ...routing,
  ...input,
  ...callers,
  ...errors,
  ...reporting,
};
