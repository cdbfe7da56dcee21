import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  applyEnvironment,
  type Draft,
  type Environment,
  strayVariables,
  withFiles,
} from '../../../core/config/overrides.js';

const draft = (): Draft => ({
  server: { port: 8080, basePath: '/api/v1' },
  adapter: { use: 'store', options: { path: 'data', poolSize: 5 } },
  plugins: [{ use: 'one', options: {} }],
  auth: { tiers: ['a'], keys: { use: 'file', options: {} } },
  limits: { requestsPerMinute: 600 },
  redis: null,
});

const named = [
  { variable: 'PORT', path: ['server', 'port'] },
  { variable: 'STORE_URI', path: ['adapter', 'options', 'uri'], when: { at: ['adapter'], use: 'remote' } },
  { variable: 'REDIS_URL', path: ['redis', 'url'] },
];

const apply = (env: Environment) => {
  const root = draft();
  return { root, ...applyEnvironment(root, { env, files: new Map() }, 'DEMO', named) };
};

describe('applyEnvironment', () => {
  const settings: [variable: string, value: string, path: string, expected: unknown][] = [
    ['DEMO__SERVER__PORT', '9000', 'server.port', 9000],
    ['DEMO__SERVER__BASEPATH', '/v2', 'server.basePath', '/v2'],
    ['DEMO__SERVER__BASE_PATH', '/v2', 'server.basePath', '/v2'],
    ['DEMO__server__basePath', '/v2', 'server.basePath', '/v2'],
    ['DEMO__LIMITS__REQUESTS_PER_MINUTE', '1200', 'limits.requestsPerMinute', 1200],
    ['DEMO__AUTH__TIERS', '["a","b"]', 'auth.tiers', ['a', 'b']],
    ['DEMO__AUTH__TIERS__0', 'b', 'auth.tiers[0]', 'b'],
    ['DEMO__AUTH__TIERS__1', 'b', 'auth.tiers[1]', 'b'],
    ['DEMO__AUTH__PEPPERS__1', '12', 'auth.peppers.1', '12'],
    ['DEMO__AUTH__PEPPERS', '{"1":"a"}', 'auth.peppers', { '1': 'a' }],
    ['DEMO__PLUGINS__1', './mine.js', 'plugins[1]', { use: './mine.js', options: {} }],
    ['DEMO__PLUGINS__0__OPTIONS__SPAN', '12', 'plugins[0].options.span', 12],
    ['DEMO__ADAPTER', 'other', 'adapter', { use: 'other', options: {} }],
    ['DEMO__ADAPTER__OPTIONS__PATH', '/data', 'adapter.options.path', '/data'],
    ['DEMO__ADAPTER__OPTIONS__POOL_SIZE', '9', 'adapter.options.poolSize', 9],
    ['DEMO__ADAPTER__OPTIONS__POLL_MS', '500', 'adapter.options.pollMs', 500],
    ['DEMO__ADAPTER__OPTIONS__snake_case', 'x', 'adapter.options.snake_case', 'x'],
    ['DEMO__REDIS__URL', 'redis://h', 'redis.url', 'redis://h'],
    ['DEMO__HTTP__CORS', 'null', 'http.cors', null],
    // Values of string settings stay strings, even if they look like numbers or JSON.
    ['DEMO__AUTH__REALM', '123', 'auth.realm', '123'],
    ['DEMO__AUTH__REALM', 'true', 'auth.realm', 'true'],
    ['DEMO__AUTH__REALM', '"in quotes"', 'auth.realm', 'in quotes'],
    // Invalid values are not converted, so that the schema check reports them.
    ['DEMO__SERVER__PORT', 'http', 'server.port', 'http'],
  ];
  for (const [variable, value, path, expected] of settings) {
    it(`${variable}=${value} sets ${path} to ${JSON.stringify(expected)}`, () => {
      const { root, overrides, errors } = apply({ [variable]: value });
      expect(errors).to.deep.equal([]);
      expect(root).to.have.deep.nested.property(path, expected);
      expect(overrides).to.deep.equal([{ path, variable }]);
    });
  }

  const wrong: [variable: string, error: string][] = [
    ['DEMO__SERVER__PROT', 'there is no setting "server.PROT"; did you mean DEMO__SERVER__PORT?'],
    [
      'DEMO__LIMITS__REQUEST_PER_MINUTE',
      'there is no setting "limits.REQUEST_PER_MINUTE"; did you mean DEMO__LIMITS__REQUESTS_PER_MINUTE?',
    ],
    ['DEMO__LIMTS__REPLICAS', 'there is no setting "LIMTS"; did you mean DEMO__LIMITS?'],
    ['DEMO__LOG__ZZZZZZZZZ', 'there is no setting "log.ZZZZZZZZZ"; log has level, format, addresses, requests, probes'],
    ['DEMO__SERVER__PORT__X', 'there is no setting "server.port.X"; server.port has nothing inside it'],
    ['DEMO__PLUGINS__5', '"5" is not an index of the list plugins; use a number from 0 to 1'],
    ['DEMO__PLUGINS__ONE', '"ONE" is not an index of the list plugins; use a number from 0 to 1'],
    ['DEMO__ADAPTER__OPTIONS__PATH__DEEPER', 'cannot be set, adapter.options.path is neither an object nor a list'],
  ];
  for (const [variable, error] of wrong) {
    it(`${variable}: ${error}`, () => {
      const { root, overrides, errors } = apply({ [variable]: '1' });
      expect(errors).to.deep.equal([`${variable}: ${error}`]);
      expect(overrides).to.deep.equal([]);
      expect(root).to.deep.equal(draft());
    });
  }

  it('treats an empty variable as absent', () => {
    expect(apply({ PORT: '', DEMO__SERVER__PORT: '', DEMO__NOTHING: '' })).to.deep.equal({
      root: draft(),
      overrides: [],
      errors: [],
    });
  });

  it('replaces a whole section before it changes a value inside it', () => {
    const { root } = apply({ DEMO__ADAPTER__OPTIONS__URI: 'x://y', DEMO__ADAPTER: 'remote' });
    expect(root['adapter']).to.deep.equal({ use: 'remote', options: { uri: 'x://y' } });
  });

  it('gives the general rule precedence over a well-known variable', () => {
    const { root, overrides } = apply({ PORT: '1', DEMO__SERVER__PORT: '2' });
    expect(root).to.have.nested.property('server.port', 2);
    expect(overrides).to.deep.equal([{ path: 'server.port', variable: 'DEMO__SERVER__PORT' }]);
  });

  it('ignores the variable of a module that is not used', () => {
    expect(apply({ STORE_URI: 'x://y' }).root).to.deep.equal(draft());
    const { root } = apply({ STORE_URI: 'x://y', DEMO__ADAPTER: 'remote' });
    expect(root['adapter']).to.deep.equal({ use: 'remote', options: { uri: 'x://y' } });
  });

  it('creates a section that is missing or null in the file', () => {
    expect(apply({ REDIS_URL: 'redis://h' }).root['redis']).to.deep.equal({ url: 'redis://h' });
  });

  it('never changes a prototype', () => {
    apply({ DEMO__ADAPTER__OPTIONS____proto____POLLUTED: '1', DEMO__ADAPTER__OPTIONS__constructor: '{"polluted":1}' });
    apply({ DEMO__ADAPTER__OPTIONS: '{"__proto__":{"polluted":1}}' });
    expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
  });
});

describe('strayVariables', () => {
  it('reports variables that would have no effect', () => {
    expect(strayVariables({ DEMO_CONFG: 'x', DEMO_SERVER__PORT: '1' }, 'DEMO')).to.deep.equal([
      'DEMO_CONFG: there is no such variable; did you mean DEMO_CONFIG?',
      'DEMO_SERVER__PORT: setting names start with "DEMO__", with two underscores',
    ]);
  });

  it('does not report any other variables', () => {
    expect(
      strayVariables({ DEMO_CONFIG: 'x', DEMO__A: '1', DEMO_COLOR: '1', DEMOGRAPHY: '1', PATH: 'x' }, 'DEMO'),
    ).to.deep.equal([]);
  });
});

describe('withFiles', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'value-files-'));
    await writeFile(join(folder, 'url'), 'redis://:s3cret@h\n');
    await writeFile(join(folder, 'empty'), '\n');
  });
  after(() => rm(folder, { recursive: true }));

  const secret = named.map((each) => (each.variable === 'PORT' ? each : { ...each, secret: true }));
  const read = async (env: Environment) => {
    const root = draft();
    return { root, ...applyEnvironment(root, await withFiles(env, 'DEMO', secret), 'DEMO', secret) };
  };

  for (const variable of ['REDIS_URL', 'DEMO__REDIS__URL']) {
    it(`${variable}_FILE sets the same setting as ${variable}, to the file's content without its final newline`, async () => {
      const { root, overrides, errors } = await read({ [`${variable}_FILE`]: join(folder, 'url') });
      expect(errors).to.deep.equal([]);
      expect(root).to.have.nested.property('redis.url', 'redis://:s3cret@h');
      expect(overrides).to.deep.equal([{ path: 'redis.url', variable: `${variable}_FILE` }]);
    });
  }

  it('reports a file that cannot be read, is empty, or is set in addition to its variable', async () => {
    const errorsOf = async (env: Environment) => (await read(env)).errors.join();
    expect(await errorsOf({ REDIS_URL_FILE: join(folder, 'none') })).to.match(
      /^REDIS_URL_FILE: .+none cannot be read: /,
    );
    expect(await errorsOf({ REDIS_URL_FILE: join(folder, 'empty') })).to.match(/empty is empty$/);
    expect(await errorsOf({ REDIS_URL_FILE: join(folder, 'url'), REDIS_URL: 'redis://h' })).to.equal(
      'REDIS_URL_FILE: REDIS_URL is also set; remove one of them',
    );
  });

  it('ignores module options with such names, and variables of other programs', async () => {
    const path = join(folder, 'url');
    const { root, errors } = await read({ DEMO__ADAPTER__OPTIONS__CA_FILE: path, PORT_FILE: path });
    expect(errors).to.deep.equal([]);
    expect(root).to.have.nested.property('adapter.options.caFile', path);
    expect(root).to.have.nested.property('server.port', 8080);
  });
});
