import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Context } from 'koa';
import { definePlugin, type OpenContext, type Plugin, serviceRoute } from '../../../core/contracts/plugin.js';
import { createApp } from '../../../product.js';
import { request } from '../../support/http-client.js';
import { keptLogger } from '../../support/kept-logger.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { until } from '../../support/until.js';

const config = { adapter: 'memory', plugins: ['status'], auth: { keys: 'memory' }, log: { level: 'silent' } } as const;

const pluginOf = (name: string, members: Partial<Plugin>): { readonly plugin: Plugin } => ({
  plugin: { kind: 'plugin', name, version: '1.0.0', description: 'Has a lifecycle.', ...members },
});

const failing = pluginOf('failing', {
  routes: () => [
    serviceRoute({
      path: '/failing',
      operationId: 'fail',
      summary: 'Fails',
      response: { description: 'Nothing.', schema: { type: 'object' }, example: {} },
      handler: async () => {
        throw new TypeError('unexpected');
      },
    }),
  ],
});

describe('the lifecycle of plugins', () => {
  const open: TestApp[] = [];
  afterEach(async () => {
    for (const service of open.splice(0)) await service.close();
  });
  const start = async (options: Parameters<typeof startTestApp>[0]) => {
    const service = await startTestApp(options);
    open.push(service);
    return service;
  };

  it('opens plugins in order before it accepts requests, and closes them in reverse order', async () => {
    const steps: string[] = [];
    const stepping = (name: string) =>
      pluginOf(name, {
        open: async () => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          steps.push(`open ${name}`);
        },
        close: () => {
          steps.push(`close ${name}`);
        },
      });
    const app = await createApp(config, { plugins: [stepping('a'), stepping('b')] });
    expect(steps).to.deep.equal(['open a', 'open b']);
    await Promise.all([app.close(), app.close()]);
    expect(steps).to.deep.equal(['open a', 'open b', 'close b', 'close a']);
  });

  it('gives plugins their options, a logger, a clock, paths and the Koa application', async () => {
    const logger = keptLogger();
    let seen: { readonly options: unknown; readonly context: OpenContext } | undefined;
    const plugin = definePlugin({
      name: 'own',
      version: '1.0.0',
      description: 'Own.',
      options: { type: 'object', properties: { most: { type: 'integer', default: 3 } } },
      open(options, context) {
        seen = { options, context };
        context.logger.warn('opened');
        context.koa.use((ctx, next) => {
          ctx.set('X-Own', 'yes');
          return next();
        });
      },
    });
    const service = await start({ overrides: { logger, plugins: [{ plugin: plugin as Plugin }] } });
    expect(seen!.options).to.deep.equal({ most: 3 });
    expect(seen!.context.resolvePath('dataset')).to.equal(service.directory);
    expect(seen!.context.clock.now()).to.be.closeTo(Date.now(), 60_000);
    expect(logger.lines).to.include('warn: opened');
    expect((await service.get('/status')).headers['x-own']).to.equal('yes');
  });

  it('does not start if a plugin cannot be opened, and closes the plugins that were opened', async () => {
    const closed: string[] = [];
    const plugins = [
      pluginOf('first', { close: () => void closed.push('first') }),
      pluginOf('broken', {
        open: () => {
          throw new Error('no connection');
        },
        close: () => void closed.push('broken'),
      }),
    ];
    const failure = await createApp(config, { plugins }).catch((error: Error) => error);
    expect((failure as Error).message).to.equal('Plugin "broken" cannot be opened: no connection');
    expect(closed).to.deep.equal(['first']);
  });

  it('closes all plugins, even if one fails', async () => {
    const closed: string[] = [];
    const plugins = ['a', 'b'].map((name) =>
      pluginOf(name, {
        close: () => {
          closed.push(name);
          throw new Error('cannot close');
        },
      }),
    );
    await (await createApp(config, { plugins })).close();
    expect(closed).to.deep.equal(['b', 'a']);
  });

  it('reports the error itself to onError and to the event of the Koa application, and not to middleware', async () => {
    const reported: unknown[] = [];
    const thrown: unknown[] = [];
    const seen: number[] = [];
    const reporter = pluginOf('reporter', {
      onError: (error, ctx) => void reported.push([error, ctx.status, ctx.path]),
      serviceMiddleware: () => [
        async (ctx, next) => {
          await next().catch((error: unknown) => thrown.push(error));
          seen.push(ctx.status);
        },
      ],
    });
    const { app, get } = await start({ overrides: { plugins: [failing, reporter] } });
    const emitted: unknown[] = [];
    app.koa.on('error', (error: unknown, ctx: Context) => emitted.push([error, ctx.status, ctx.path]));
    expect((await get('/failing')).json.code).to.equal('internal_error');
    const [[error, ...rest]] = reported as [[TypeError, ...unknown[]]];
    expect(error).to.be.instanceOf(TypeError).and.to.have.property('message', 'unexpected');
    expect(rest).to.deep.equal([500, '/api/v1/failing']);
    await get('/markets/00000');
    expect((reported[1] as unknown[]).slice(1)).to.deep.equal([404, '/api/v1/markets/00000']);
    expect(emitted).to.deep.equal(reported);
    expect([thrown, seen]).to.deep.equal([[], [500, 404]]);
  });

  it('responds even if onError fails, and creates no logger for each failure', async () => {
    const logger = keptLogger();
    let children = 0;
    logger.child = () => {
      children++;
      return logger as never;
    };
    const broken = ['sync', 'async'].map((name) =>
      pluginOf(name, {
        onError: () => {
          if (name === 'async') return Promise.reject(new Error('cannot report'));
          throw new Error('cannot report');
        },
      }),
    );
    const { get } = await start({ overrides: { logger, plugins: [failing, ...broken] } });
    const before = children;
    expect((await get('/failing')).status).to.equal(500);
    const failures = () => logger.lines.filter((line) => line === 'warn: a plugin failed to report an error');
    while (failures().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(children).to.equal(before);
  });

  it('responds even if a listener of the Koa application fails, and survives if it fails during a stream', async () => {
    const logger = keptLogger();
    const broken = pluginOf('broken', {
      open: async (_options, { koa }) =>
        void koa.on('error', () => {
          throw new Error('cannot report');
        }),
      mounts: () => [
        {
          path: '/stream',
          summary: 'Fails',
          handler(ctx) {
            ctx.body = Readable.from(
              (async function* () {
                yield 'some text';
                throw new Error('unexpected');
              })(),
            );
          },
        },
      ],
    });
    const { origin, get } = await start({ overrides: { logger, plugins: [failing, broken] } });
    expect((await get('/failing')).status).to.equal(500);
    await request(`${origin}/stream`).catch(() => undefined);
    const failures = () => logger.lines.filter((line) => line === 'error: a listener for errors failed');
    await until(() => failures().length >= 2 || undefined);
  });

  it('leaves ctx.state to plugins: any property can be set', async () => {
    const names = ['format', 'match', 'caller', 'error', 'id', 'decision', 'connection', 'isInner', 'startedAt'];
    const setting = pluginOf('setting', {
      serviceMiddleware: () => [
        (ctx, next) => {
          for (const name of names) ctx.state[name] = 'own';
          return next();
        },
      ],
    });
    const { get } = await start({ overrides: { plugins: [setting] } });
    for (const path of ['/markets', '/markets?format=csv', '/status']) expect((await get(path)).status).to.equal(200);
  });

  describe('upgrades', () => {
    const takeOver = pluginOf('shouting', {
      mounts: () => [
        {
          path: '/shout',
          summary: 'Repeats text in upper case',
          handler: (ctx) => {
            ctx.body = 'not upgraded';
          },
          upgrade(ctx, socket, head) {
            if (ctx.query['fail'] !== undefined) throw new Error('cannot upgrade');
            socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n');
            const answer = (data: Buffer) => socket.write(String(data).toUpperCase());
            if (head.length > 0) answer(head);
            socket.on('data', answer);
          },
        },
      ],
    });
    const sockets: Socket[] = [];
    afterEach(() => {
      for (const socket of sockets.splice(0)) socket.destroy();
    });
    const send = async (origin: string, path: string, more = '') => {
      const socket = connect(Number(new URL(origin).port), '127.0.0.1');
      sockets.push(socket);
      let received = '';
      socket.setEncoding('utf8').on('data', (data) => {
        received += data;
      });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n${more}`);
      return {
        socket,
        until: async (wanted: RegExp) => {
          while (!wanted.test(received)) await once(socket, 'data');
          return received;
        },
      };
    };

    it('are passed to the mount, together with the bytes that follow the request', async () => {
      const { origin, app } = await start({ overrides: { plugins: [takeOver] } });
      const { socket, until } = await send(origin, '/shout', 'hello ');
      expect(await until(/HELLO/)).to.match(/^HTTP\/1.1 101 /);
      socket.write('again');
      await until(/AGAIN/);
      const closed = once(socket, 'close');
      await app.close();
      await closed;
    });

    it('are answered like ordinary requests by other endpoints, and the connection is closed', async () => {
      const { origin } = await start({ overrides: { plugins: [takeOver] } });
      for (const [path, status] of [
        ['/api/v1/health', 200],
        ['/api/v1/markets', 401],
        ['/nowhere', 404],
      ] as const) {
        const { socket, until } = await send(origin, path);
        await once(socket, 'close');
        const response = await until(/\}/);
        expect(response)
          .to.match(new RegExp(`^HTTP/1.1 ${status} `))
          .and.to.match(/connection: close/i);
      }
    });

    it('close the connection if the mount fails', async () => {
      const { origin } = await start({ overrides: { plugins: [takeOver] } });
      const { socket } = await send(origin, '/shout?fail');
      await once(socket, 'close');
    });

    it('are ordinary requests without an owner, and a mount answers ordinary requests itself', async () => {
      const { origin } = await start({ overrides: { plugins: [takeOver] } });
      expect(await (await fetch(`${origin}/shout`)).text()).to.equal('not upgraded');
    });
  });
});
