import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { configLoader } from '../../../core/config/load.js';
import type { Environment } from '../../../core/config/overrides.js';
import { OperatorError } from '../../../core/errors.js';

const good = { adapter: { use: 'store', options: { path: 'data' } }, plugins: ['one'] };

describe('loadConfig', () => {
  let folder: string;
  let load: ReturnType<typeof configLoader>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'config-'));
    await writeFile(join(folder, 'embedded.json'), JSON.stringify(good));
    load = configLoader({ prefix: 'DEMO', embedded: join(folder, 'embedded.json'), variables: [] });
  });
  after(() => rm(folder, { recursive: true }));

  const write = async (content: unknown): Promise<string> => {
    const path = join(folder, 'own.json');
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };

  const rejection = async (path: string | undefined, env: Environment = {}): Promise<OperatorError> => {
    const error = await load({ path, env }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(OperatorError);
    return error as OperatorError;
  };

  const errorsOf = async (content: unknown, env?: Environment) => (await rejection(await write(content), env)).errors;

  describe('chooses the file', () => {
    it('prefers the file of --config to that of the environment variable', async () => {
      const path = await write({ ...good, server: { port: 1 } });
      const loaded = await load({ path, env: { DEMO_CONFIG: join(folder, 'embedded.json') } });
      expect(loaded).to.include({ path, folder, embedded: false });
      expect(loaded.config.server.port).to.equal(1);
    });

    it('prefers the file of the environment variable to the embedded configuration', async () => {
      const path = await write({ ...good, server: { port: 2 } });
      const loaded = await load({ env: { DEMO_CONFIG: path } });
      expect(loaded).to.include({ path, embedded: false });
    });

    it('uses the embedded file if no file is named or the variable is empty', async () => {
      for (const env of [{}, { DEMO_CONFIG: '' }]) {
        expect(await load({ env })).to.include({ path: join(folder, 'embedded.json'), embedded: true });
      }
    });

    it('resolves paths against the working directory, and returns absolute paths', async () => {
      const path = await write(good);
      expect(await load({ path: relative(process.cwd(), path), env: {} })).to.include({ path, folder });
    });
  });

  it('allows variables to override single default values', async () => {
    const env = { DEMO__AUTH__TIERS__1: 'free', DEMO__LOG__LEVEL: 'warn' };
    const { config } = await load({ path: await write(good), env });
    expect(config.auth.tiers).to.deep.equal(['enterprise', 'free']);
    expect(config.log.level).to.equal('warn');
    expect(config.log.format).to.be.a('string');
  });

  it('allows several workers without metrics, and timeouts that are equal', async () => {
    const server = { workers: 2, headersTimeoutMs: 10_000, requestTimeoutMs: 10_000 };
    const { config } = await load({ path: await write({ ...good, server }), env: {} });
    expect(config.server).to.include(server);
    expect(config.metrics).to.equal(null);
  });

  it('fills in every default, and expands short forms of modules', async () => {
    const { config } = await load({
      path: await write({ ...good, $schema: './x.json', auth: { keys: 'memory' } }),
      env: {},
    });
    expect(config.plugins).to.deep.equal([{ use: 'one', options: {} }]);
    const keys = { use: 'memory', options: {} };
    expect(config.auth).to.deep.equal({ tiers: ['enterprise'], anonymous: null, peppers: {}, keys });
    expect(config.redis).to.equal(null);
    expect(config.http.cors).to.deep.equal({ origin: '*', maxAgeSeconds: 86_400 });
    expect(config).to.not.have.property('$schema');
  });

  it('accepts a byte order mark', async () => {
    expect((await load({ path: await write(`\uFEFF${JSON.stringify(good)}`), env: {} })).config.plugins).to.have.length(
      1,
    );
  });

  describe('reports errors in a file', () => {
    const cases: [name: string, change: object, ...errors: string[]][] = [
      [
        'a port out of range',
        { server: { port: 99_999 } },
        'server.port: 99999 is not allowed; it must be a whole number from 0 to 65535',
      ],
      [
        'a port as text',
        { server: { port: '8080' } },
        'server.port: "8080" is not allowed; it must be a whole number from 0 to 65535',
      ],
      [
        'a fraction',
        { server: { drainMs: 1.5 } },
        'server.drainMs: 1.5 is not allowed; it must be a whole number from 1 to 3600000',
      ],
      ['a mistyped setting', { server: { prot: 80 } }, 'server.prot: there is no such setting; did you mean "port"?'],
      [
        'a setting in the wrong section',
        { http: { port: 80 } },
        'http.port: there is no such setting; did you mean "server.port" or "metrics.port"?',
      ],
      [
        'a setting outside its section',
        { basePath: '' },
        'basePath: there is no such setting; did you mean "server.basePath"?',
      ],
      ['a mistyped section', { limts: {} }, 'limts: there is no such setting; did you mean "limits"?'],
      [
        'an unknown setting',
        { log: { zzzzzzzz: 1 } },
        'log.zzzzzzzz: there is no such setting; there are "level", "format", "addresses", "requests", "probes"',
      ],
      [
        'a mistyped choice',
        { log: { level: 'inof' } },
        'log.level: "inof" is not allowed; it must be "trace", "debug", "info", "warn", "error", "fatal" or "silent"',
      ],
      [
        'a missing part',
        { adapter: undefined },
        'adapter: is missing; it must be a string that is not empty or an object with "use"',
      ],
      [
        'a plugin without a name',
        { plugins: ['one', { options: {} }] },
        'plugins[1].use: is missing; it must be a string that is not empty',
      ],
      [
        'a plugin that is a number',
        { plugins: [7] },
        'plugins[0]: 7 is not allowed; it must be a string that is not empty or an object with "use"',
      ],
      ['an empty name', { adapter: '' }, 'adapter.use: "" is not allowed; it must be a string that is not empty'],
      [
        'a base path without its slash',
        { server: { basePath: 'api' } },
        'server.basePath: "api" is not allowed; it must be a string, matching ^(/[A-Za-z0-9._~-]+)*$, for example "/api/v1"',
      ],
      [
        'an origin with a path',
        { http: { cors: { origin: ['https://a.example/x'] } } },
        'http.cors.origin[0]: "https://a.example/x" is not allowed; it must be a string, matching ^https?://[^/\\s]+$, for example "https://app.example.com"',
      ],
      [
        'the same tier twice',
        { auth: { tiers: ['a', 'a'] } },
        'auth.tiers: items 0 and 1 are the same; each may occur once',
      ],
      [
        'a pepper that is too short, without showing it',
        { auth: { peppers: { '1': 's3cret' } } },
        'auth.peppers.1: the value (not shown, it may be a secret) is not allowed; it must be a string, of at least 32 characters',
      ],
      [
        'a pepper whose version is not a number',
        { auth: { peppers: { v1: 'x'.repeat(32) } } },
        'auth.peppers: "v1" is not allowed; it must be a string, matching ^[1-9][0-9]{0,3}$, for example "1"',
      ],
      [
        'no kind of Redis',
        { redis: {} },
        'redis: there must be exactly one of "url", "sentinel", "cluster"; the environment may give it as REDIS_URL, or REDIS_URL_FILE with the path of a file',
      ],
      [
        'two kinds of Redis',
        { redis: { url: 'redis://h', cluster: { nodes: ['h:1'] } } },
        'redis: there must be exactly one of "url", "sentinel", "cluster"',
      ],
      ['null for a section', { limits: null }, 'limits: null is not allowed; it must be an object'],
      [
        'timeouts that contradict each other',
        { server: { headersTimeoutMs: 20_000, requestTimeoutMs: 10_000 } },
        'server.headersTimeoutMs: 20000 is longer than server.requestTimeoutMs (10000)',
      ],
      [
        'networks of proxies that are invalid, too wide, or have host bits',
        {
          server: {
            trustProxy: [
              '10.0.0.0/8',
              'proxy',
              '10.0.0.0/33',
              '0.0.0.0/0',
              '10.1.2.3/8',
              'fd00:1::1/32',
              '::ffff:0:0/96',
              '::1/128',
            ],
          },
        },
        'server.trustProxy[1]: "proxy" is not allowed; it must be an address or a network, such as "10.0.0.0/8" or "fd00::/8"',
        'server.trustProxy[2]: "10.0.0.0/33" is not allowed; it must be an address or a network, such as "10.0.0.0/8" or "fd00::/8"',
        'server.trustProxy[3]: "0.0.0.0/0" is not allowed; it contains every address, so callers could choose their address',
        'server.trustProxy[4]: "10.1.2.3/8" is not allowed; its address has bits after the first 8; did you mean "10.0.0.0/8"?',
        'server.trustProxy[5]: "fd00:1::1/32" is not allowed; its address has bits after the first 32; did you mean "fd00:1::/32"?',
        'server.trustProxy[6]: "::ffff:0:0/96" is not allowed; it contains every address, so callers could choose their address',
      ],
      [
        'a trust in proxies that is neither a number nor a list',
        { server: { trustProxy: true } },
        'server.trustProxy: true is not allowed; it must be a whole number from 0 to 16 or a list of at least 1 of at most 100, each a string that is not empty, for example 1',
      ],
      [
        'metrics on the port of the API',
        { server: { host: '0.0.0.0', port: 9464 }, metrics: {} },
        'metrics.port: 9464 is already the API port (server.port); use a different one',
      ],
      [
        'a realm with quotes',
        { auth: { realm: 'a"b' } },
        'auth.realm: "a\\"b" is not allowed; it must be a string, matching ^[ !#-\\[\\]-~]+$, for example "Example API"',
      ],
      [
        'a service name with other than plain characters',
        { adapter: { use: 'a', 'x y': 1 } },
        'adapter["x y"]: there is no such setting; there are "use", "options"',
      ],
    ];
    for (const [name, change, ...errors] of cases) {
      it(name, async () => expect(await errorsOf({ ...good, ...change })).to.deep.equal(errors));
    }

    it('reports all errors together, with their number and the file in the heading', async () => {
      const path = await write({ ...good, server: { prot: 1, port: -1 }, log: { level: 5 }, redis: {} });
      const { message, errors } = await rejection(path);
      expect(message.split('\n')[0]).to.equal(`The configuration ${path} has 4 errors:`);
      expect(errors.map((error) => error.split(':')[0])).to.have.members([
        'server.prot',
        'server.port',
        'log.level',
        'redis',
      ]);
    });

    it('reports contradictions between settings together with schema errors', async () => {
      const errors = await errorsOf({
        ...good,
        server: { prot: 1, port: 9464, headersTimeoutMs: 20_000, trustProxy: ['10.1.2.3/8', ''] },
        metrics: { hots: 'a' },
        auth: { anonymous: 'fre', tiers: { free: { requestsPerMinut: 1 } }, keys: 'memory' },
        redis: { url: 'redis://[h' },
      });
      expect(errors.map((error) => error.split(':')[0])).to.have.members([
        'server.prot',
        'server.trustProxy[1]',
        'metrics.hots',
        'auth.tiers.free.requestsPerMinut',
        'auth.anonymous',
        'metrics.port',
        'server.headersTimeoutMs',
        'server.trustProxy[0]',
        'redis.url',
      ]);
    });

    it('reports each error once: a value that violates the schema causes no contradiction', async () => {
      const errors = await errorsOf({
        ...good,
        server: { port: 9464, headersTimeoutMs: 20_000, requestTimeoutMs: -1 },
        metrics: { port: '9464' },
        auth: { anonymous: 7, tiers: 'free', keys: 'memory' },
      });
      expect(errors.map((error) => error.split(':')[0])).to.have.members([
        'server.requestTimeoutMs',
        'metrics.port',
        'auth.anonymous',
        'auth.tiers',
      ]);
    });

    it('reports an invalid Redis URL without showing it', async () => {
      const [error, ...more] = await errorsOf({ ...good, redis: { url: 'redis://u:s3cret@h:port' } });
      expect(more).to.deep.equal([]);
      expect(error)
        .to.match(/^redis\.url: is not a valid URL .*percent-encode/)
        .and.not.contain('s3cret');
    });

    it('property names of Object.prototype', async () => {
      const errors = await errorsOf('{"__proto__": {"port": 1}, "constructor": 2, "adapter": "a", "plugins": ["p"]}');
      expect(errors.map((error) => error.slice(0, 30))).to.have.members([
        '__proto__: there is no such se',
        'constructor: there is no such ',
      ]);
      expect(({} as { port?: number }).port).to.equal(undefined);
    });

    it('a long value, cut short', async () => {
      const [error] = await errorsOf({ ...good, log: { level: 'x'.repeat(5000) } });
      expect(error).to.include('…').and.to.have.length.below(300);
    });

    const broken: [name: string, text: string, error: string][] = [
      ['a comma too many', '{\n  "plugins": ["a"],\n}', 'line 3, column 1: there is a comma before "}"'],
      ['a comma too few', '{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: expected "," or "}"'],
      ['a comment', '{ // why\n}', 'line 1, column 3: expected a name in double quotes'],
      ['an end too early', '{"plugins": [', 'line 1, column 14: the text ends where a value is expected'],
      ['an empty file', '', 'line 1, column 1: the text ends where a value is expected'],
      ['a name twice', '{"log": {},\n "log": {}}', 'line 2, column 2: the name "log" is repeated in this object'],
    ];
    for (const [name, text, error] of broken) {
      it(`${name}, with line and column`, async () => expect(await errorsOf(text)).to.deep.equal([error]));
    }

    it('a list instead of an object', async () => {
      expect((await rejection(await write([]))).message).to.include('must be an object');
    });
  });

  describe('explains why a file cannot be read', () => {
    it('that does not exist, and which option named it', async () => {
      const path = join(folder, 'missing.json');
      expect((await rejection(path)).message).to.equal(
        `The configuration ${path} (named by --config) cannot be read: it does not exist, or its folder does not.`,
      );
      expect((await rejection(undefined, { DEMO_CONFIG: path })).message).to.include('(named by DEMO_CONFIG)');
    });

    it('that is a directory', async () => {
      await mkdir(join(folder, 'sub'));
      expect((await rejection(join(folder, 'sub'))).message).to.include('it is a folder; name a file in it');
    });
  });

  describe('never shows a secret', () => {
    const secret = 's3cret';
    const cases: [name: string, content: unknown][] = [
      ['in a URL of the wrong kind', { ...good, redis: { url: `http://user:${secret}@host` } }],
      ['in a value of the wrong type for its section', { ...good, redis: secret }],
      ['in the value of another setting', { ...good, server: { host: 1, port: `redis://:${secret}@host` } }],
      ['in text that is not JSON', `{"redis": {"url": "redis://:${secret}@host"} "x": ${secret}}`],
    ];
    for (const [name, content] of cases) {
      it(name, async () => {
        const { message } = await rejection(await write(content));
        expect(message).to.not.include(secret);
      });
    }

    it('from the environment', async () => {
      const { message } = await rejection(await write(good), { DEMO__REDIS__URL: `http://:${secret}@host` });
      expect(message).to.include('redis.url (from DEMO__REDIS__URL)').and.not.include(secret);
    });
  });
});
