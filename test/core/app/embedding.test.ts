import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import memory from '../../../adapters/memory.js';
import type { App } from '../../../core/app/app-types.js';
import type { Config } from '../../../core/config/schema.js';
import type { Collection } from '../../../core/contracts/dataset.js';
import { dataRoute, definePlugin, type Plugin, serviceRoute } from '../../../core/contracts/plugin.js';
import { ApiError, defineError, type OperatorError } from '../../../core/errors.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { callerOf } from '../../../core/pipeline/caller.js';
import { packageRoot } from '../../../core/util/package.js';
import markets from '../../../plugins/metro/endpoints/markets.js';
import { createApp } from '../../../product.js';
import { contextOf } from '../../adapters/json-instance.js';
import { request } from '../../support/http-client.js';
import { keptLogger } from '../../support/kept-logger.js';
import { freePort } from '../../support/server-process.js';
import { addKey } from '../../support/test-app.js';

const config = {
  server: { port: 0 },
  adapter: 'memory',
  plugins: ['status'],
  auth: { keys: 'memory' },
  log: { level: 'silent', format: 'json' },
} as const;

const number = {
  type: 'object',
  required: ['a'],
  additionalProperties: false,
  properties: { a: { type: 'number' } },
} as const;

const isReachable = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });

/** Plugins in JavaScript can return anything, so the argument has no type. */
const answering = (answer: unknown): Plugin =>
  definePlugin({
    name: 'answers',
    version: '1.0.0',
    description: 'Answers.',
    routes: () => [
      serviceRoute({
        path: '/answer',
        operationId: 'getAnswer',
        summary: 'An answer',
        response: { description: 'It.', schema: number, example: { a: 1 } },
        handler: async () => answer as { a: number },
      }),
    ],
  });

describe('an embedded application', () => {
  const open: App[] = [];
  const embed = async (...args: Parameters<typeof createApp>): Promise<App> => {
    const app = await createApp(...args);
    open.push(app);
    return app;
  };
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });

  it('reports errors of plugins and of the configuration together', async () => {
    const auth = { tiers: { free: { requestsPerDay: 0, endpoints: ['answers', 'answrs'] } }, keys: 'memory' } as const;
    const wrong = { ...answering({ a: 1 }), name: 'wrong', routes: () => [], options: { type: 'object' } } as Plugin;
    const failure = await createApp(
      { ...config, auth },
      { plugins: [{ plugin: answering({ a: 1 }) }, { plugin: wrong, options: 7 }] },
    ).catch((error: OperatorError) => error);
    expect((failure as OperatorError).errors.map((error) => error.split(':')[0])).to.have.members([
      'auth.tiers.free.requestsPerDay',
      'auth.tiers.free.endpoints[1]',
      'overrides.plugins[1].options',
    ]);
  });

  it('accepts a configuration object, and does not change it', async () => {
    const before = JSON.stringify(config);
    const app = await embed(config);
    expect((await app.inject('/api/v1/openapi.json')).statusCode).to.equal(200);
    expect(JSON.stringify(config)).to.equal(before);
  });

  it('needs no configured plugins if plugins are passed in code', async () => {
    const app = await embed({ ...config, plugins: [] }, { plugins: [{ plugin: answering({ a: 1 }) }] });
    expect((await app.inject('/api/v1/answer')).statusCode).to.equal(401);
    const failure = await createApp({ ...config, plugins: [] }).catch((error: OperatorError) => error);
    expect((failure as OperatorError).errors).to.deep.equal([
      'plugins: an empty list is not allowed; name at least one plugin',
    ]);
  });

  it('needs no configured adapter or plugins if both are passed in code', async () => {
    const { adapter: _, plugins: __, ...others } = config;
    const folder = await mkdtemp(join(tmpdir(), 'embedding-'));
    const path = join(folder, 'api.json');
    const declared = new Map((markets.collections as readonly Collection[]).map((each) => [each.name, each]));
    const context = contextOf(packageRoot, declared);
    await writeFile(path, JSON.stringify(others));
    try {
      for (const given of [others, path]) {
        const failure = await createApp(given).catch((error: OperatorError) => error);
        const errors = (failure as OperatorError).errors.map((error) => error.split(';')[0]);
        expect(errors).to.deep.equal(['adapter: is missing', 'plugins: is missing']);
        const adapter = memory.create({ path: 'plugins/metro/dataset' }, context);
        const app = await embed(given, { adapter, plugins: [{ plugin: markets as Plugin }] });
        expect((await app.local.request('/markets/26420')).status).to.equal(200);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('rejects a key store whose lookup is async', async () => {
    class Wrong extends MemoryKeyStore {
      override lookup = (async () => undefined) as never;
    }
    const failure = await createApp(config, { keyStore: new Wrong() }).catch((error: Error) => error);
    expect((failure as Error).message).to.contain('"lookup" must not be async');
  });

  it('calls each function of a plugin once', async () => {
    let calls = 0;
    const routes = () => {
      calls++;
      return [];
    };
    await embed(config, { plugins: [{ plugin: { ...answering({ a: 1 }), routes } }] });
    expect(calls).to.equal(1);
  });

  it('reports every error of a configuration in code, with its path', async () => {
    const wrong = { ...config, server: { port: '8080' }, limit: {} } as object;
    await createApp(wrong as never).then(
      () => expect.fail('createApp() did not reject.'),
      (error: Error) => expect(error.message).to.contain('server.port').and.contain('did you mean "limits"'),
    );
  });

  it('checks the options of its plugins, and fills in their defaults in a copy', async () => {
    let seen: unknown;
    const plugin = definePlugin({
      name: 'own',
      version: '1.0.0',
      description: 'Own.',
      options: {
        type: 'object',
        additionalProperties: false,
        properties: { most: { type: 'integer', default: 3 }, name: { type: 'string' } },
      },
      routes: (options) => {
        seen = options;
        return [];
      },
    }) as Plugin;
    const options = { name: 'x' };
    await embed(config, { plugins: [{ plugin, options }] });
    expect(seen).to.deep.equal({ name: 'x', most: 3 });
    expect(options).to.deep.equal({ name: 'x' });
    for (const [given, says] of [
      [{ plugin, options: { nam: 'x' } }, 'overrides.plugins[0].options.nam'],
      [{ plugin: { ...plugin, kind: 'adapter' } as never }, '"kind" must be "plugin"'],
      [{ plugin: { ...plugin, routes: undefined, rotes: () => [] } as never }, 'did you mean "routes"'],
      [{ plugin: undefined as never }, 'overrides.plugins[0]'],
    ] as const) {
      await createApp(config, { plugins: [given] }).then(
        () => expect.fail('createApp() did not reject.'),
        (error: Error) => expect(error.message).to.contain(says),
      );
    }
  });

  it('adds at most one listener to the process, regardless of the number of applications', async () => {
    const before = process.listenerCount('exit');
    const apps = await Promise.all(Array.from({ length: 12 }, () => createApp(config)));
    for (const app of apps) await app.close();
    expect(process.listenerCount('exit')).to.be.within(before, before + 1);
  });

  for (const taken of ['server', 'metrics'] as const) {
    it(`listen() can be repeated if the port of the ${taken} was in use, and close() leaves nothing open`, async () => {
      const blocker = createServer().listen(0, '127.0.0.1');
      await once(blocker, 'listening');
      const inUse = (blocker.address() as AddressInfo).port;
      const ports = { server: await freePort(), metrics: await freePort(), [taken]: inUse };
      const app = await createApp({ ...config, server: { port: ports.server }, metrics: { port: ports.metrics } });
      try {
        for (let i = 0; i < 2; i++) {
          const failure = await app.listen().catch((error: unknown) => error);
          expect(failure).to.include({ code: 'EADDRINUSE', port: inUse });
        }
        await new Promise((resolve) => blocker.close(resolve));
        const { metricsUrl } = await app.listen();
        expect(await isReachable(ports.server)).to.equal(true);
        expect((await request(metricsUrl!)).status).to.equal(200);
        expect(await app.listen().catch((error: unknown) => error)).to.be.instanceOf(Error);
        expect((await request(metricsUrl!)).status).to.equal(200);
      } finally {
        await app.close();
        blocker.close();
      }
      for (const port of Object.values(ports)) expect(await isReachable(port)).to.equal(false);
    });
  }

  it('close(); listen(); close() leaves nothing open', async () => {
    const withMetrics = { ...config, metrics: { port: 0 } };
    for (const wait of [true, false]) {
      const app = await createApp(withMetrics);
      const closed = app.close();
      if (wait) await closed;
      const listening = app.listen();
      await listening.then(
        () => expect.fail('The service started listening.'),
        (error: Error) => expect(error.message).to.contain('is closed'),
      );
      await app.close();
    }
    const app = await createApp(withMetrics);
    const listening = app.listen();
    await app.close();
    const reached = await listening.then(
      ({ port }) => isReachable(port),
      () => false,
    );
    expect(reached).to.equal(false);
  });

  it('passes the service to routes and the caller to middleware, but never the key', async () => {
    const callers: unknown[] = [];
    const route = {
      operationId: 'getMe',
      summary: 'Who asks',
      response: { description: 'It.', schema: { type: 'object' }, example: {} },
    } as const;
    const plugin = definePlugin({
      name: 'me',
      version: '1.0.0',
      description: 'Who asks.',
      middleware: () => [
        (ctx, next) => {
          callers.push(callerOf(ctx));
          return next();
        },
      ],
      routes: () => [
        serviceRoute({
          ...route,
          path: '/me',
          key: false,
          handler: async (_input, { caller, headers }) => ({ caller, headers }),
        }),
        serviceRoute({
          ...route,
          path: '/all',
          operationId: 'getAll',
          sharedSeconds: 9,
          handler: async (_input, { caller, headers }) => ({ caller, headers }),
        }),
      ],
    }) as Plugin;
    const keyStore = new MemoryKeyStore();
    const { key, id } = await addKey(keyStore, { tier: 'gold' });
    const app = await embed(
      { ...config, auth: { tiers: ['gold'], keys: 'memory' } },
      { keyStore, plugins: [{ plugin }] },
    );
    const headers = { authorization: `Bearer ${key}`, cookie: 'a=b', 'x-team': 'north' };
    const mine = await app.inject({ url: '/api/v1/me', headers });
    expect(mine.json().caller).to.deep.equal({ id, tier: 'gold' });
    expect(mine.json().headers).to.include({ 'x-team': 'north' }).and.to.not.have.any.keys('authorization', 'cookie');
    expect(mine.body).to.not.contain(key);
    expect((await app.inject('/api/v1/me')).json().caller).to.equal(null);
    expect((await app.inject({ url: '/api/v1/all', headers })).json()).to.deep.equal({ caller: null, headers: {} });
    expect(callers).to.deep.equal([{ id, tier: 'gold' }, null, { id, tier: 'gold' }]);
  });

  it('app.local.request() sends headers and a caller, and returns headers', async () => {
    const plugin = definePlugin({
      name: 'me',
      version: '1.0.0',
      description: 'Who asks.',
      routes: () => [
        serviceRoute({
          path: '/me',
          operationId: 'getMe',
          summary: 'Who asks',
          response: { description: 'It.', schema: { type: 'object' }, example: {} },
          handler: async (_input, { caller, headers }) => ({ caller, team: headers['x-team'] ?? null }),
        }),
      ],
    }) as Plugin;
    const tiers = { free: { endpoints: ['me'] }, none: { endpoints: [] } };
    const app = await embed({ ...config, auth: { keys: 'memory', tiers } }, { plugins: [{ plugin }] });
    const caller = { id: 'alice', tier: 'free' };
    const mine = await app.local.request('/me', { caller, headers: { 'x-team': 'north', 'x-request-id': 'mine' } });
    expect(JSON.parse(mine.body)).to.deep.equal({ caller, team: 'north' });
    expect(mine.headers).to.include({ 'x-request-id': 'mine', 'content-type': 'application/json; charset=utf-8' });
    expect((await app.local.request('/me', { caller: { id: 'bob', tier: 'none' } })).status).to.equal(403);
    expect(JSON.parse((await app.local.request('/me')).body)).to.deep.equal({ caller: null, team: null });
    const unknown = await app.local
      .request('/me', { caller: { id: 'x', tier: 'gold' } })
      .catch((error: Error) => error);
    expect((unknown as Error).message).to.contain('has the tier "gold", which is not in auth.tiers');
  });

  it('documents its mounts', async () => {
    const app = await embed({ ...config, plugins: ['status', 'docs'] });
    const document = (await app.inject('/api/v1/openapi.json')).json();
    const docs = document['x-mounts'].find(({ path }: { path: string }) => path === '/docs');
    expect(docs).to.include({ key: false }).and.to.have.property('summary').that.is.not.empty;
    expect(docs.methods).to.deep.equal(['GET', 'HEAD']);
  });

  const ask = async (answer: unknown, responseCheck: Config['http']['responseCheck']) => {
    const logger = keptLogger();
    const keyStore = new MemoryKeyStore();
    const own = await addKey(keyStore);
    const app = await embed(
      { ...config, http: { responseCheck } },
      { logger, keyStore, plugins: [{ plugin: answering(answer) }] },
    );
    const response = await app.inject({ url: '/api/v1/answer', headers: { authorization: `Bearer ${own.key}` } });
    return { status: response.statusCode, body: response.json(), log: logger.lines.join('\n') };
  };

  for (const [check, status, body] of [
    ['off', 200, { a: 1, secret: 2 }],
    ['sample', 200, { a: 1, secret: 2 }],
    ['report', 200, { a: 1, secret: 2 }],
    ['cut', 200, { a: 1 }],
    ['refuse', 500, undefined],
  ] as const) {
    it(`http.responseCheck ${check}: an undeclared property`, async () => {
      const answered = await ask({ a: 1, secret: 2 }, check);
      expect(answered.status).to.equal(status);
      if (body) expect(answered.body).to.deep.equal(body);
      else expect(answered.body.code).to.equal('internal_error');
      const reports = check === 'sample' || check === 'report';
      expect(answered.log.includes('does not conform to its schema')).to.equal(reports);
    });
  }

  for (const [check, what, statuses] of [
    ['report', 'sends errors that a route does not declare', [404, 404, 404]],
    ['refuse', 'replaces errors that a route does not declare with a 500', [404, 500, 500]],
  ] as const) {
    it(`http.responseCheck ${check} ${what}`, async () => {
      const gone = defineError({ code: 'thing_gone', status: 404, sentence: 'It is gone.', when: 'It was deleted.' });
      const route = {
        summary: 'Fails',
        response: { description: 'It.', schema: number, example: { a: 1 } },
        handler: async () => {
          throw new ApiError(gone);
        },
      };
      const plugin = definePlugin({
        name: 'failing',
        version: '1.0.0',
        description: 'Fails.',
        routes: () => [
          dataRoute({ ...route, path: '/declared', operationId: 'getDeclared', errors: [gone] }),
          dataRoute({ ...route, path: '/data', operationId: 'getData' }),
          serviceRoute({ ...route, path: '/service', operationId: 'getService' }),
        ],
      });
      const adapter = { use: 'json', options: { path: 'plugins/metro/dataset' } };
      const app = await embed({ ...config, adapter, http: { responseCheck: check } }, { plugins: [{ plugin }] });
      const messages: string[] = [];
      app.koa.on('error', (error: Error) => messages.push(error.message));
      const responses = await Promise.all(['/declared', '/data', '/service'].map((path) => app.local.request(path)));
      expect(responses.map(({ status }) => status)).to.deep.equal(statuses);
      const reports = messages.filter((message) => message.includes('does not declare the error "thing_gone"'));
      expect(reports).to.have.length(statuses.filter((status) => status === 500).length);
    });
  }

  for (const check of ['off', 'report', 'cut'] as const) {
    it(`http.responseCheck ${check}: NaN and Infinity are an error, at any depth`, async () => {
      for (const answer of [{ a: Number.NaN }, { a: 1, b: [{ c: Number.NEGATIVE_INFINITY }] }]) {
        expect((await ask(answer, check)).status).to.equal(500);
      }
    });
  }

  it('calls the handler of a data route and checks its response once per snapshot', async () => {
    let asked = 0;
    const plugin = definePlugin({
      name: 'counted',
      version: '1.0.0',
      description: 'Counts.',
      routes: () => [
        dataRoute({
          path: '/counted',
          operationId: 'getCounted',
          summary: 'Counts',
          response: { description: 'It.', schema: number, example: { a: 1 } },
          handler: async () => {
            asked++;
            return {
              get a() {
                return 1;
              },
            };
          },
        }),
      ],
    }) as Plugin;
    const app = await embed(
      {
        ...config,
        adapter: { use: 'json', options: { path: 'plugins/metro/dataset' } },
        plugins: ['markets', 'forecasts', 'observations', 'signals'],
        http: { responseCheck: 'refuse' },
      },
      { plugins: [{ plugin }] },
    );
    for (let i = 0; i < 3; i++) expect((await app.local.request('/counted')).status).to.equal(200);
    expect(asked).to.equal(1);
  });
});
