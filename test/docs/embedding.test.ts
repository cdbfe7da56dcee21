import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import Koa from 'koa';
import type { App } from '../../core/app/app-types.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { packageRoot } from '../../core/util/package.js';
import { createApp } from '../../product.js';
import { request } from '../support/http-client.js';
import { snippetsOf } from '../support/snippets.js';
import { addKey } from '../support/test-app.js';
import { frameworkPrograms } from './framework-programs.js';

const run = promisify(execFile);
const PAGE = 'docs/guides/embedding.md';
const config = {
  adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
  plugins: ['markets', 'status', 'docs', 'mcp'],
  auth: { keys: 'memory' },
  log: { level: 'silent' },
} as const;

type Start = (app: App, port: number) => Server | Promise<Server>;

describe(PAGE, () => {
  let folder: string;
  let app: App;
  let key: string;
  const servers: Server[] = [];

  before(async function () {
    this.timeout(30_000);
    // In a folder inside this package, the programs can import the package by name, and the frameworks from its
    // dependencies.
    folder = await mkdtemp(join(packageRoot, 'dist/embedding-'));
    const codes = snippetsOf(PAGE).flatMap(({ info, code }) => info.split(' ').map((name) => [name, code] as const));
    for (const [name, program] of frameworkPrograms(new Map(codes)))
      await writeFile(join(folder, `${name}.js`), program);
    const keyStore = new MemoryKeyStore();
    ({ key } = await addKey(keyStore));
    app = await createApp(config, { keyStore });
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });
  after(async () => {
    await app?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const serve = async (start: Start): Promise<string> => {
    const server = await start(app, 0);
    servers.push(server);
    if (!server.listening) await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  it('its limiter decides whether to allow a request', async function () {
    this.timeout(30_000);
    const snippet = snippetsOf(PAGE).find(({ heading }) => heading === 'Write a limiter');
    await writeFile(join(folder, 'program.mjs'), snippet!.code);
    const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: folder });
    expect(stdout).to.match(/^200 "default";r=\d+;t=\d+$/m);
  });

  const startOf = async (name: string): Promise<Start> =>
    ((await import(pathToFileURL(join(folder, name)).href)) as { readonly start: Start }).start;
  const programs: Readonly<Record<string, () => Promise<Start>>> = {
    ...Object.fromEntries(
      ['express.js', 'koa.js', 'fastify.js', 'nest.js', 'hono.js'].map((name) => [name, () => startOf(name)]),
    ),
    'a middleware class in Nest': async () => {
      const { Controller, Get, Module, RequestMethod } = await import('@nestjs/common');
      const { NestFactory } = await import('@nestjs/core');
      return async (service, port) => {
        class Home {
          home() {
            return 'the rest of your program';
          }
        }
        Controller()(Home);
        Get()(Home.prototype, 'home', Object.getOwnPropertyDescriptor(Home.prototype, 'home')!);
        class Data {
          readonly use = service.middleware({ prefix: '/data' });
        }
        class Program {
          configure(consumer: import('@nestjs/common').MiddlewareConsumer) {
            consumer.apply(Data).forRoutes({ path: '{*path}', method: RequestMethod.ALL });
          }
        }
        Module({ controllers: [Home] })(Program);
        const program = await NestFactory.create(Program, { logger: false });
        await program.listen(port, '127.0.0.1');
        return program.getHttpServer() as Server;
      };
    },
    'app.koa, mounted by koa-mount': async () => {
      const { default: mount } = (await import('koa-mount' as string)) as {
        default: (path: string, app: Koa) => Koa.Middleware;
      };
      return (service, port) => {
        const program = new Koa();
        program.use(mount('/data', service.koa));
        program.use((ctx) => {
          ctx.body = 'the rest of your program';
        });
        return program.listen(port, '127.0.0.1');
      };
    },
  };

  for (const [name, load] of Object.entries(programs)) {
    describe(name, () => {
      let origin: string;
      beforeEach(async () => {
        origin = await serve(await load());
      });
      const get = (path: string, headers: Record<string, string> = {}) => request(`${origin}${path}`, { headers });

      it('serves data with a key, and errors without one', async () => {
        const { status, json, headers } = await get('/data/api/v1/markets', { authorization: `Bearer ${key}` });
        expect([status, json.data.length > 10]).to.deep.equal([200, true]);
        expect(headers).to.include.keys('etag', 'ratelimit', 'x-request-id');
        const refused = await get('/data/api/v1/markets');
        expect([refused.status, refused.json.code]).to.deep.equal([401, 'missing_api_key']);
        expect((await get('/data/api/v1/nowhere')).json.code).to.equal('route_not_found');
      });

      it('leaves all other paths to the program', async () => {
        expect((await get('/')).text).to.equal('the rest of your program');
        const { status, text } = await get('/api/v1/markets');
        expect(status === 404 || text === 'the rest of your program').to.equal(true);
        expect(text).to.not.contain('route_not_found');
      });

      it('has the prefix in pages, links and the OpenAPI document', async () => {
        expect((await get('/data/api/v1/openapi.json')).json.servers[0].url).to.equal('/data/api/v1');
        const { text } = await get('/data/docs');
        const assets = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!);
        expect(assets.length).to.be.above(1);
        for (const path of assets) expect(path).to.match(/^\/data(\/|$)/);
        const [script] = [...text.matchAll(/src="([^"]+)"/g)].map(([, path]) => path!);
        expect((await get(script!)).status).to.equal(200);
      });

      it('accepts POST /mcp', async () => {
        const body = JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
        });
        const { status, text } = await request(`${origin}/data/mcp`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body,
        });
        expect([status, text.includes('serverInfo')]).to.deep.equal([200, true]);
      });
    });
  }

  it('app.middleware() without a prefix owns the paths of the API and its pages, but not /', async () => {
    const origin = await serve((service, port) => {
      const program = new Koa();
      program.use(service.middleware());
      program.use((ctx) => {
        ctx.body = 'own';
      });
      return program.listen(port, '127.0.0.1');
    });
    for (const path of ['/', '/api/v1x', '/api', '/docsx'])
      expect(await (await fetch(origin + path)).text()).to.equal('own');
    for (const path of ['/api/v1/health', '/docs']) expect((await fetch(origin + path)).status).to.equal(200);
    expect((await fetch(`${origin}/api/v1/nowhere`)).status).to.equal(404);
  });

  it('app.middleware() rejects a prefix that is not a path', () => {
    for (const prefix of ['data', '/data/', '/a b', 'https://x']) {
      expect(() => app.middleware({ prefix })).to.throw('must look like /data');
    }
  });
});
