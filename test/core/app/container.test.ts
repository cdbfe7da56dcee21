import { expect } from 'chai';
import { inject } from 'light-my-request';
import type { Overrides } from '../../../core/app/app-types.js';
import { close, createContainer, open, resolve } from '../../../core/app/container.js';
import type { PartName, Parts } from '../../../core/app/part-types.js';
import { parts } from '../../../core/app/parts.js';
import { OperatorError } from '../../../core/errors.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { createApp, loadConfig, loadModules } from '../../../product.js';
import { keptLogger } from '../../support/kept-logger.js';
import { redisForTests, uniqueName } from '../../support/services.js';
import { startTestApp } from '../../support/test-app.js';

const embedded = async (config: object = {}) => {
  const loaded = await loadConfig({ path: undefined, env: {} });
  return { ...loaded, config: { ...loaded.config, ...config } };
};

const silent = keptLogger();

describe('the graph of parts', () => {
  it('has no circular dependencies', () => {
    const done = new Set<PartName>();
    const visit = (name: PartName, above: readonly PartName[]): void => {
      expect(above, 'a circular dependency').to.not.include(name);
      if (done.has(name)) return;
      for (const need of parts[name].needs) visit(need, [...above, name]);
      done.add(name);
    };
    for (const name of Object.keys(parts) as PartName[]) visit(name, []);
  });

  it('two applications in one process share no parts', async () => {
    const config = await embedded();
    const modules = await loadModules(config);
    const [one, other] = [createContainer({ config, modules }), createContainer({ config, modules })];
    for (const name of Object.keys(parts) as PartName[]) {
      const [a, b] = [resolve(one, name), resolve(other, name)];
      expect(resolve(one, name), name).to.equal(a);
      const isGiven = name === 'config' || name === 'modules';
      // Parts that are turned off are null in both applications. The system clock is the same object in both.
      if (!isGiven && a !== null && name !== 'clock') expect(a === b, name).to.equal(false);
    }
    await Promise.all([close(one), close(other)]);
  });

  it('an override with an unknown name is an error that suggests the nearest name', async () => {
    const failure = await createApp(await embedded(), { limitter: {} } as never).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(OperatorError);
    expect((failure as OperatorError).errors).to.deep.equal([
      'overrides.limitter: it cannot be replaced; did you mean "limiter"?',
    ]);
  });

  const standIn = (made: object): object =>
    new Proxy(made, {
      get: (target, key) => {
        const value = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });

  const replaceable = ['adapter', 'keyStore', 'limiter', 'cache', 'clock', 'logger'] as const;
  for (const name of replaceable) {
    it(`"${name}" can be replaced`, async () => {
      const config = await embedded({
        server: { ...(await embedded()).config.server, port: 0 },
        redis: {
          url: (await redisForTests()).url,
          keyPrefix: uniqueName('graph'),
          timeoutMs: 1000,
          connectTimeoutMs: 5000,
        },
        metrics: { host: '127.0.0.1', port: 0 },
        log: { level: 'silent', format: 'json' },
      });
      const modules = await loadModules(config);
      const quiet = name === 'logger' ? {} : { logger: silent };
      const first = createContainer({ config, modules }, quiet);
      const made = resolve(first, name);
      const replacement = standIn(made);
      // Most parts of the first container need its open stores. A store itself must not be opened by both containers.
      if (!['adapter', 'keyStore'].includes(name)) await open(first);
      const second = createContainer({ config, modules }, { ...quiet, [name]: replacement } as Overrides);
      // The container wraps a limiter, to check its decisions.
      if (name !== 'limiter') expect(resolve(second, name)).to.equal(replacement);
      resolve(second, 'server');
      const handle = resolve(second, 'handle') as Parameters<typeof inject>[0];
      await open(second);
      try {
        const response = await inject(handle, '/api/v1/health');
        expect(response.statusCode).to.equal(200);
      } finally {
        await close(second);
        await close(first);
      }
    });
  }

  it('an override that is null, not an object or lacks a member is an error that names it', async () => {
    const limiter = { take: () => undefined, health: () => ({ ok: true, message: null }) };
    const overrides = { keyStore: null, cache: 7, limiter, clock: undefined } as never;
    const failure = await createApp(await embedded(), overrides).catch((error: unknown) => error);
    expect((failure as OperatorError).errors).to.deep.equal([
      'overrides.keyStore: it must be an object',
      'overrides.cache: it must be an object',
      'overrides.limiter: "close" is missing',
    ]);
  });

  it('createApp uses the given parts for a request', async () => {
    const taken: string[] = [];
    const limiter: Parts['limiter'] = {
      take: (subject, limit) => {
        taken.push(subject);
        return { allowed: true, limit, remaining: 7, resetMs: 0 };
      },
      health: () => ({ ok: true, message: null }),
      close: async () => undefined,
    };
    const keyStore = new MemoryKeyStore();
    const service = await startTestApp({ overrides: { limiter, keyStore } });
    try {
      const { headers } = await service.get('/markets', { headers: { Authorization: '' } });
      expect(headers['ratelimit']).to.equal('"default";r=7;t=0');
      expect(taken).to.deep.equal(['ip:127.0.0.1']);
    } finally {
      await service.close();
    }
  });
});

describe('the lifecycle of parts', () => {
  const order: string[] = [];
  const recorded = <Value extends object>(name: string, value: Value, fault?: 'open' | 'close'): Value =>
    new Proxy(value, {
      get: (target, key) => {
        const own = Reflect.get(target, key, target);
        if (key !== 'open' && key !== 'close') return typeof own === 'function' ? own.bind(target) : own;
        return async () => {
          order.push(`${name} ${key}`);
          if (key === fault) throw new Error(`${name} does not ${fault}`);
          await (own as (() => unknown) | undefined)?.call(target);
        };
      },
    });

  const build = async (faults: Readonly<Record<string, 'open' | 'close'>> = {}) => {
    order.length = 0;
    const config = await embedded();
    const modules = await loadModules(config);
    const made = createContainer({ config, modules }, { logger: silent });
    const names = ['adapter', 'keyStore', 'limiter', 'cache'] as const;
    const overrides = Object.fromEntries(
      names.map((name) => [name, recorded(name, resolve(made, name), faults[name])]),
    );
    return { config, overrides: { ...overrides, logger: silent } as Overrides };
  };

  it('stores are opened once, and closed once in reverse order of creation', async () => {
    const { config, overrides } = await build();
    const app = await createApp(config, overrides);
    expect(order.filter((each) => each.endsWith('open'))).to.have.members(['adapter open', 'keyStore open']);
    await app.close();
    await app.close();
    const closed = order.filter((each) => each.endsWith('close')).map((each) => each.split(' ')[0]!);
    expect(new Set(closed).size).to.equal(closed.length);
    const first = (user: string, used: string) => expect(closed.indexOf(user)).to.be.below(closed.indexOf(used));
    first('limiter', 'keyStore');
    expect(closed).to.have.members(['adapter', 'keyStore', 'limiter', 'cache']);
  });

  it('if a part fails to open, the others are closed', async () => {
    const { config, overrides } = await build({ keyStore: 'open' });
    const failure = await createApp(config, overrides).catch((error: Error) => error.message);
    expect(failure).to.equal('keyStore does not open');
    const closed = order.filter((each) => each.endsWith('close'));
    expect(closed).to.include.members(['adapter close', 'keyStore close', 'limiter close', 'cache close']);
  });

  it('if a part fails to close, the others are closed', async () => {
    const { config, overrides } = await build({ cache: 'close' });
    const app = await createApp(config, overrides);
    expect(await app.close().catch((error: Error) => error.message)).to.equal('cache does not close');
    expect(order).to.include.members(['adapter close', 'keyStore close']);
  });

  it('if a part cannot be created, the others are closed', async () => {
    const { config, overrides } = await build();
    const clock = {
      now: () => {
        throw new Error('there is no time');
      },
      monotonic: () => 0,
    };
    const failure = await createApp(config, { ...overrides, clock }).catch((error: Error) => error.message);
    expect(failure).to.equal('there is no time');
    expect(order).to.include.members(['adapter close', 'cache close']);
  });
});
