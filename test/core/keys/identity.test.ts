import { expect } from 'chai';
import type { IdentifiedCaller, Identity, IdentityRequest } from '../../../core/contracts/identity.js';
import { definePlugin, serviceRoute } from '../../../core/contracts/plugin.js';
import { ApiError, errors } from '../../../core/errors.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

type Answer = (request: IdentityRequest) => IdentifiedCaller | undefined | Promise<IdentifiedCaller | undefined>;

const TIERS = { enterprise: {}, free: { requestsPerMinute: 7, endpoints: ['who'] } };

describe('identity of a plugin', () => {
  const open: TestApp[] = [];
  const asked: IdentityRequest[] = [];
  let clock = Date.now();
  let elapsed = 0;
  const wait = (ms: number) => {
    clock += ms;
    elapsed += ms;
  };
  beforeEach(() => {
    asked.length = 0;
  });
  afterEach(async () => {
    for (const service of open.splice(0)) await service.close();
  });

  const pluginOf = (name: string, answer: Answer, more: Partial<Identity> = {}) => ({
    plugin: definePlugin({
      name,
      version: '1.0.0',
      description: 'Identifies callers.',
      identity: () => ({
        ...more,
        identify(request) {
          asked.push(request);
          return answer(request);
        },
      }),
    }),
  });
  const who = {
    plugin: definePlugin({
      name: 'who',
      version: '1.0.0',
      description: 'Shows the caller.',
      routes: () => [
        serviceRoute({
          path: '/who',
          operationId: 'getWho',
          summary: 'The caller',
          response: { description: 'It.', schema: { type: 'object' }, example: {} },
          handler: async (_input, { caller, account }) => ({ caller, account }),
        }),
      ],
    }),
  };
  const start = async (...plugins: ReturnType<typeof pluginOf>[]) => {
    const service = await startTestApp({
      config: { auth: { keys: { use: 'memory' }, tiers: TIERS } },
      overrides: {
        plugins: [who, ...plugins],
        clock: { now: () => clock, monotonic: () => performance.now() + elapsed },
      },
    });
    open.push(service);
    return {
      ...service,
      as: (credentials: string, path = '/who') => service.get(path, { headers: { Authorization: credentials } }),
    };
  };
  const alice = { id: 'alice', tier: 'free' };

  it('identifies the caller, with its tier and its own account', async () => {
    const { as } = await start(pluginOf('tokens', async () => alice));
    const { status, json, headers } = await as('Bearer token');
    expect([status, json.caller]).to.deep.equal([200, alice]);
    expect(json.account).to.include({ id: 'id:tokens:alice', limit: 7, tier: 'free' });
    expect(headers['ratelimit']).to.match(/^"default";r=6;/);
    expect((await as('Bearer token', '/markets')).json.code).to.equal('not_in_tier');
  });

  it('uses the limit of the caller', async () => {
    const { as } = await start(pluginOf('tokens', () => ({ ...alice, limit: 2 })));
    const statuses = [await as('Bearer a'), await as('Bearer b'), await as('Bearer c')].map(({ status }) => status);
    expect(statuses).to.deep.equal([200, 200, 429]);
  });

  it('is not called for a request with a valid key or without credentials', async () => {
    const { get, url } = await start(pluginOf('tokens', () => alice));
    expect((await get('/who')).json.caller.tier).to.equal('enterprise');
    const response = await fetch(`${url}/who`);
    expect([response.status, asked]).to.deep.equal([401, []]);
  });

  it('asks the next plugin if it returns undefined, and ends with a 401 if all plugins do', async () => {
    const { as } = await start(
      pluginOf('first', () => undefined),
      pluginOf('second', ({ headers }) => (headers['authorization'] === 'Basic x' ? alice : undefined)),
    );
    expect((await as('Basic x')).status).to.equal(200);
    const { status, json } = await as('Basic y');
    expect([status, json.code, asked.length]).to.deep.equal([401, 'invalid_api_key', 4]);
  });

  for (const [what, error, message] of [
    ['an ApiError', new ApiError(errors.invalid_api_key, 'The token has expired.'), 'The token has expired.'],
    ['an http-error', Object.assign(new Error('expired'), { status: 401 }), 'The credentials are not valid.'],
  ] as const) {
    it(`ends the search with invalid_api_key and a message if it throws ${what} with status 401`, async () => {
      const { as } = await start(
        pluginOf('first', () => {
          throw error;
        }),
        pluginOf('second', () => alice),
      );
      const { status, json, headers } = await as('Bearer token');
      expect([status, json.code, asked.length]).to.deep.equal([401, 'invalid_api_key', 1]);
      expect(json.error).to.contain(message);
      expect(headers['www-authenticate']).to.contain('error="invalid_token"');
    });
  }

  it('causes a 500 if it fails, but only at endpoints that need a key', async () => {
    const { as } = await start(
      pluginOf('tokens', async () => {
        throw new Error('unexpected');
      }),
    );
    const { status, json } = await as('Bearer token');
    expect([status, json.code]).to.deep.equal([500, 'internal_error']);
    expect((await as('Bearer token', '/status')).status).to.equal(200);
  });

  for (const wrong of [
    { id: '', tier: 'free' },
    { id: 7, tier: 'free' },
    { id: 'a' },
    { ...alice, limit: 0 },
    { ...alice, expiresAt: 'soon' },
    null,
  ]) {
    it(`causes a 500 if it returns ${JSON.stringify(wrong).slice(0, 40)}`, async () => {
      const { as } = await start(pluginOf('tokens', () => wrong as never));
      expect((await as('Bearer token')).status).to.equal(500);
    });
  }

  for (const name of ['WWW-Authenticate', 'www-authenticate']) {
    it(`sends the headers of an ApiError with status 401, such as ${name}`, async () => {
      const headers = { [name]: 'DPoP error="use_dpop_nonce"', 'DPoP-Nonce': 'n1' };
      const { as, url } = await start(
        pluginOf('tokens', () => {
          throw new ApiError(errors.invalid_api_key, 'Use the nonce.', { headers });
        }),
      );
      for (let i = 0; i < 2; i++) {
        const response = await as('Bearer token');
        expect(response.headers).to.include({ 'dpop-nonce': 'n1' });
        const { headers: sent } = await fetch(`${url}/who`, { headers: { Authorization: 'Bearer token' } });
        expect(sent.get('www-authenticate')).to.equal('DPoP error="use_dpop_nonce"');
      }
    });
  }

  it('mentions other credentials in its 401 messages', async () => {
    const { as, url } = await start(pluginOf('tokens', () => undefined));
    expect((await as('Basic x')).json.error).to.contain('The credentials are not valid.');
    const response = await fetch(`${url}/who`);
    expect(((await response.json()) as { error: string }).error).to.contain('or other credentials');
  });

  it('replaces the end of a long id by its digest', async () => {
    const idOf = async (id: string) => {
      const { as } = await start(pluginOf('tokens', () => ({ id, tier: 'free' })));
      return (await as('Bearer token')).json.caller.id as string;
    };
    expect(await idOf('x'.repeat(256))).to.equal('x'.repeat(256));
    const long = await idOf('x'.repeat(257));
    expect(long).to.match(/^x{200}~[\w-]{43}$/);
    expect(await idOf(`${'x'.repeat(257)}y`)).to.not.equal(long);
    // The cut must not split a character that consists of two code units.
    expect((await idOf(`x${'😀'.repeat(200)}`)).length).to.equal(244);
  });

  it('rejects a caller with an unknown tier', async () => {
    const { as } = await start(pluginOf('tokens', () => ({ ...alice, tier: 'gold' })));
    expect((await as('Bearer token')).json.code).to.equal('invalid_api_key');
  });

  it('is asked once for concurrent and later requests, and again after 5 seconds', async () => {
    const { as } = await start(pluginOf('tokens', async () => alice));
    await Promise.all(['Bearer a', 'Bearer a', 'Bearer b'].map((each) => as(each)));
    expect(asked).to.have.length(2);
    await as('Bearer a');
    expect(asked).to.have.length(2);
    wait(5000);
    await as('Bearer a');
    expect(asked).to.have.length(3);
  });

  it('is asked again after 5 seconds even if the system clock is set back', async () => {
    const { as } = await start(pluginOf('tokens', () => (asked.length === 1 ? alice : undefined)));
    expect((await as('Bearer a')).status).to.equal(200);
    wait(5000);
    clock -= 3_600_000;
    expect((await as('Bearer a')).status).to.equal(401);
  });

  it('is cached until the credentials expire, but no longer than a minute', async () => {
    const { as } = await start(pluginOf('tokens', () => ({ ...alice, limit: 100, expiresAt: clock + 30_000 })));
    const statusAfter = async (ms: number) => {
      wait(ms);
      await as('Bearer a');
      return asked.length;
    };
    expect([await statusAfter(0), await statusAfter(29_000), await statusAfter(1000)]).to.deep.equal([1, 1, 2]);
  });

  it('caches rejected credentials', async () => {
    const { as } = await start(pluginOf('tokens', () => undefined));
    for (let i = 0; i < 3; i++) expect((await as('Bearer wrong')).status).to.equal(401);
    expect(asked).to.have.length(1);
  });

  it('reads the headers that it names, such as the subject of a client certificate', async () => {
    const { url } = await start(
      pluginOf('certificates', ({ headers }) => ({ ...alice, id: String(headers['x-client-subject']) }), {
        headers: ['X-Client-Subject'],
      }),
    );
    const callers = await Promise.all(
      ['a', 'b'].map(async (subject) =>
        (await fetch(`${url}/who`, { headers: { 'X-Client-Subject': subject } })).json(),
      ),
    );
    expect(callers.map((each) => (each as { caller: { id: string } }).caller.id)).to.deep.equal(['a', 'b']);
  });

  it('can identify callers by their address', async () => {
    const { url } = await start(
      pluginOf('addresses', ({ address }) => (address === '127.0.0.1' ? alice : undefined), {
        headers: [],
        usesAddress: true,
      }),
    );
    expect((await fetch(`${url}/who`)).status).to.equal(200);
  });

  it('answers 503 if too many requests wait for it, and if it takes longer than 5 seconds', async function () {
    this.timeout(15_000);
    const { as } = await start(pluginOf('tokens', () => new Promise(() => undefined)));
    const started = performance.now();
    const waiting = Array.from({ length: 20 }, (_, i) => as(`Bearer ${i}`));
    while (asked.length < 20) await new Promise((resolve) => setTimeout(resolve, 10));
    const extra = await as('Bearer 20');
    expect([extra.status, extra.json.code, asked.length]).to.deep.equal([503, 'service_unavailable', 20]);
    expect(performance.now() - started).to.be.below(4000);
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).to.deep.equal(new Set([503]));
  });

  it('must be an object with the function identify', async () => {
    const plugin = definePlugin({
      name: 'broken',
      version: '1.0.0',
      description: 'Has no identify.',
      identity: () => ({}) as Identity,
    });
    const failure = await start({ plugin }).catch((error: Error) => error);
    expect((failure as Error).message).to.equal(
      'The identity of plugin "broken" cannot be used: it must be an object with a function "identify".',
    );
  });
});
