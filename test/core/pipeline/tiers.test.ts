import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { partOf } from '../../../core/app/create-app.js';
import type { AuthConfig } from '../../../core/config/schema.js';
import { request, type TestResponse } from '../../support/http-client.js';
import { redisForTests, uniqueName } from '../../support/services.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const KEYS = { use: 'memory' };
const TIERS = {
  enterprise: {},
  free: { requestsPerMinute: 50, requestsPerDay: 4, requestsPerMonth: 100, endpoints: ['markets', '/series'] },
  public: { requestsPerDay: 3, endpoints: ['/movers', 'mcp'] },
};
const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'status', 'mcp'];

const DAY = 86_400;
const secondsOfMonth = (now: Date): number =>
  (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)) /
  1000;
const leftOfDay = (): number => DAY - (Math.floor(Date.now() / 1000) % DAY);

describe('tiers', () => {
  let service: TestApp;

  before(async () => {
    service = await startTestApp({ config: { plugins: PLUGINS, auth: { tiers: TIERS, keys: KEYS } } });
  });
  after(() => service.close());

  const asTier = async (tier: string, limit_per_minute: number | null = null) => {
    const { key } = await service.newKey({ tier, limit_per_minute });
    return (path: string): Promise<TestResponse> =>
      request(`${service.url}${path}`, { headers: { Authorization: `Bearer ${key}` } });
  };

  it("a key has its tier's limit, or its own", async () => {
    const limitOf = async (get: (path: string) => Promise<TestResponse>) =>
      String((await get('/markets')).headers['ratelimit-policy']).split(',')[0];
    expect(await limitOf(await asTier('free'))).to.equal('"default";q=50;w=60');
    expect(await limitOf(await asTier('free', 7))).to.equal('"default";q=7;w=60');
    expect(await limitOf(await asTier('enterprise'))).to.equal('"default";q=100000;w=60');
  });

  it('RateLimit-Policy names every quota, and RateLimit has the quota with the least left', async () => {
    const get = await asTier('free');
    const { headers } = await get('/markets');
    expect(headers['ratelimit-policy']).to.equal(
      `"default";q=50;w=60, "day";q=4;w=${DAY}, "month";q=100;w=${secondsOfMonth(new Date())}`,
    );
    const [, left, reset] = /^"day";r=(\d+);t=(\d+)$/.exec(String(headers['ratelimit'])) ?? [];
    expect(Number(left)).to.equal(3);
    expect(Number(reset)).to.be.within(leftOfDay() - 5, leftOfDay() + 5);
  });

  it('a tier without quotas has the common headers only', async () => {
    const { headers } = await (await asTier('enterprise', 9))('/markets');
    expect(headers['ratelimit-policy']).to.equal('"default";q=9;w=60');
    expect(headers['ratelimit']).to.match(/^"default";r=8;t=\d+$/);
  });

  it('beyond a quota: 429 quota_exceeded, with Retry-After until the end of the UTC day', async () => {
    const get = await asTier('free');
    for (let i = 0; i < 4; i++) expect((await get('/markets')).status).to.equal(200);
    const { status, json, headers } = await get('/markets');
    expect([status, json.code]).to.deep.equal([429, 'quota_exceeded']);
    expect(Number(headers['retry-after'])).to.be.within(leftOfDay() - 5, leftOfDay() + 5);
    expect(headers['ratelimit']).to.match(/^"day";r=0;t=/);
  });

  it('beyond the limit per minute: 429 rate_limited, which uses no quota', async () => {
    const get = await asTier('free', 1);
    expect((await get('/markets')).status).to.equal(200);
    const { status, json, headers } = await get('/markets');
    expect([status, json.code]).to.deep.equal([429, 'rate_limited']);
    expect(Number(headers['retry-after'])).to.be.within(1, 61);
    expect((await get('/usage')).json.data[0]).to.include({ requests: 1, refused: 1 });
  });

  it('GET /usage returns days, tier and limits of its own caller only', async () => {
    await (await asTier('free'))('/markets');
    const get = await asTier('free');
    for (const path of ['/markets', '/markets/99999']) await get(path);
    await get('/usage');
    const { json } = await get('/usage');
    const now = new Date();
    const tomorrow = new Date(Math.ceil(now.getTime() / (DAY * 1000)) * DAY * 1000);
    expect(json).to.deep.equal({
      data: [{ date: now.toISOString().slice(0, 10), requests: 2, refused: 0 }],
      tier: 'free',
      limits: [
        { name: 'default', limit: 50, used: null, resets_at: null },
        { name: 'day', limit: 4, used: 2, resets_at: tomorrow.toISOString() },
        {
          name: 'month',
          limit: 100,
          used: 2,
          resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
        },
      ],
    });
  });

  it('a key and its successor by rotation share quotas and usage', async () => {
    const old = await service.newKey({ tier: 'free', limit_per_minute: null });
    const successor = await service.newKey({ tier: 'free', limit_per_minute: null, shares_limit_of: old.id });
    const statuses = [];
    for (const { key } of [old, successor, old, successor, old, successor]) {
      statuses.push((await request(`${service.url}/markets`, { headers: { Authorization: `Bearer ${key}` } })).status);
    }
    expect(statuses).to.deep.equal([200, 200, 200, 200, 429, 429]);
  });

  it("an endpoint outside the tier returns a 403 that lists the tier's plugins and routes", async () => {
    const get = await asTier('free');
    expect((await get('/markets/26420')).status).to.equal(200);
    expect((await get('/series')).status).to.equal(200);
    const { status, json } = await get('/signals');
    expect([status, json.code]).to.deep.equal([403, 'not_in_tier']);
    expect(json.error).to.equal(
      'The tier "free" does not include this endpoint. It includes /usage, markets, /series.',
    );
    expect((await get('/status')).status, 'needs no key').to.equal(200);
  });

  it('callers without a key have no tier, unless auth.anonymous names one', async () => {
    for (const path of ['/markets', '/usage']) {
      const { status, headers } = await request(`${service.url}${path}`);
      expect(status).to.equal(401);
      expect(headers['ratelimit-policy']).to.equal('"default";q=100000;w=60');
    }
  });

  it("tools of /mcp reach the endpoints of their caller's tier", async () => {
    const { key } = await service.newKey({ tier: 'free' });
    const call = async (name: string) => {
      const { status, json } = await mcp(service, name, { Authorization: `Bearer ${key}` });
      return { status, json };
    };
    expect((await call('list_markets')).json.code, 'the tier lacks the mount').to.equal('not_in_tier');
  });

  it('/openapi.json documents /usage, 403 and quotas', async () => {
    const { json } = await service.get('/openapi.json');
    const { get } = json.paths['/markets'];
    expect(get.responses[403].$ref).to.include('not_in_tier');
    expect(get.responses[429].$ref).to.include('quota_exceeded');
    expect(json.paths['/usage'].get.operationId).to.equal('getUsage');
    expect(json.paths['/usage'].get.description).to.include('Requests to this endpoint are not counted');
    expect(get.security, 'a key alone').to.equal(undefined);
  });

  it('a reload changes limits and quotas; other settings need a restart', async () => {
    const get = await asTier('free');
    await get('/markets');
    const tiers = { ...TIERS, free: { requestsPerMinute: 60, requestsPerDay: 2, endpoints: ['signals'] }, more: {} };
    const loaded = partOf(service.app, 'config');
    const reload = (auth: Partial<AuthConfig>): readonly string[] =>
      service.app.reload({ ...loaded, config: { ...loaded.config, auth: { ...loaded.config.auth, ...auth } } });
    reload({ tiers });
    try {
      expect((await get('/markets')).headers['ratelimit-policy']).to.equal(`"default";q=60;w=60, "day";q=2;w=${DAY}`);
      expect((await get('/markets')).status).to.equal(429);
    } finally {
      reload({});
    }
    expect((await get('/markets')).status).to.equal(200);
    expect((await get('/signals')).status).to.equal(403);
    expect((await (await asTier('more'))('/markets')).status, 'a new tier').to.equal(401);
  });
});

const mcp = (service: TestApp, name: string, headers: Record<string, string>) =>
  request(`${service.origin}/mcp`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
  });

describe('auth.anonymous', () => {
  let service: TestApp;

  before(async () => {
    service = await startTestApp({
      config: {
        plugins: PLUGINS,
        server: { port: 0, trustProxy: 1 },
        auth: { tiers: TIERS, anonymous: 'public', keys: KEYS },
      },
    });
  });
  after(() => service.close());

  let addresses = 0;
  const stranger = () => {
    const address = `192.0.2.${++addresses}`;
    return (path: string, headers: Record<string, string> = {}) =>
      request(`${service.url}${path}`, { headers: { 'X-Forwarded-For': address, ...headers } });
  };

  it("callers without a key have the tier's endpoints, limit and quotas, by their address", async () => {
    const get = stranger();
    const { status, headers } = await get('/movers');
    expect(status).to.equal(200);
    expect(headers['ratelimit-policy']).to.equal(`"default";q=100000;w=60, "day";q=3;w=${DAY}`);
    await get('/movers');
    const { json } = await get('/usage');
    expect(json).to.deep.include({ tier: 'public' });
    expect(json.data[0]).to.include({ requests: 2 });
    await get('/movers');
    expect((await get('/movers')).json.code).to.equal('quota_exceeded');
    expect((await stranger()('/movers')).status, 'another address').to.equal(200);
  });

  it('an endpoint outside of the tier needs a key', async () => {
    const { status, json } = await stranger()('/markets');
    expect([status, json.code]).to.deep.equal([401, 'missing_api_key']);
  });

  it('a wrong key is still a 401, and counts against the address', async () => {
    const get = stranger();
    const { status, json, headers } = await get('/movers', { Authorization: 'Bearer wrong' });
    expect([status, json.code]).to.deep.equal([401, 'invalid_api_key']);
    expect(headers['ratelimit']).to.match(/^"day";r=2/);
  });

  it('a key of another tier is counted separately', async () => {
    const { headers } = await service.get('/markets');
    expect(headers['ratelimit-policy']).to.equal('"default";q=100000;w=60');
  });

  it('/mcp offers tools for the endpoints of the tier, and no other tools', async () => {
    const call = async (name: string) => {
      const { text } = await mcp(service, name, { 'X-Forwarded-For': '198.51.100.7' });
      return JSON.parse(text.slice(text.indexOf('{'))).result;
    };
    const allowed = await call('list_movers');
    expect(allowed.isError ?? false, JSON.stringify(allowed)).to.equal(false);
    const refused = await call('list_markets');
    expect(refused.isError).to.equal(true);
    expect(JSON.stringify(refused)).to.include('does not include this endpoint');
  });

  it('/openapi.json marks endpoints that need no key', async () => {
    const { json } = await service.get('/openapi.json');
    expect(json.paths['/movers'].get.security).to.deep.equal([{ ApiKey: [] }, {}]);
    expect(json.paths['/usage'].get.security).to.deep.equal([{ ApiKey: [] }, {}]);
    expect(json.paths['/markets'].get.security).to.equal(undefined);
    expect(json.paths['/status'].get.security).to.deep.equal([]);
  });
});

describe('auth.tiers as a list', () => {
  it('serves no /usage, documents no quotas and no 403, and sends the common headers only', async () => {
    const service = await startTestApp();
    try {
      expect((await service.get('/usage')).status).to.equal(404);
      const { json } = await service.get('/openapi.json');
      expect(JSON.stringify(json)).to.not.match(/quota|not_in_tier|"403"/);
      expect((await service.get('/markets')).headers['ratelimit-policy']).to.equal('"default";q=100000;w=60');
    } finally {
      await service.close();
    }
  });
});

describe('configuration errors of tiers', () => {
  it('are reported together, with suggestions', async () => {
    const auth = {
      keys: KEYS,
      tiers: { free: { endpoints: ['market', '/serie', '/status'] }, gold: { endpoints: ['signals'] } },
    };
    const failure = await startTestApp({ config: { auth } }).catch((error: Error) => error);
    expect(String(failure)).to.include(
      'auth.tiers.free.endpoints[0]: no plugin or endpoint "market" needs a key; did you mean "markets"?',
    );
    expect(String(failure)).to.include(
      'auth.tiers.free.endpoints[1]: no plugin or endpoint "/serie" needs a key; did you mean "/series"?',
    );
    expect(String(failure)).to.include('auth.tiers.free.endpoints[2]: no plugin or endpoint "/status" needs a key');
  });

  it('name unknown settings, and an unknown anonymous tier', async () => {
    const terms = { free: { requestsPerDay: 0, requestPerMonth: 5 }, 'a.b': {} };
    const failure = await startTestApp({ config: { auth: { keys: KEYS, tiers: terms } } }).catch(
      (error: Error) => error,
    );
    expect(String(failure)).to.include('auth.tiers.free.requestsPerDay: 0 is not allowed');
    expect(String(failure)).to.include('did you mean "requestsPerMonth"?');
    expect(String(failure)).to.include('a.b');
    const missing = await startTestApp({ config: { auth: { keys: KEYS, tiers: ['free'], anonymous: 'fre' } } }).catch(
      (error: Error) => error,
    );
    expect(String(missing)).to.include('auth.anonymous: "fre" is not in auth.tiers; did you mean "free"?');
  });
});

for (const store of ['memory', 'Redis'] as const) {
  describe(`GET /usage, counted in ${store}`, () => {
    let service: TestApp;

    before(async () => {
      const redis = store === 'Redis' && {
        redis: { url: (await redisForTests()).url, keyPrefix: uniqueName('usage') },
      };
      const tiers = { free: { requestsPerMinute: 6, requestsPerDay: 3 }, public: { requestsPerDay: 3 } };
      const auth = { tiers, anonymous: 'public', keys: KEYS };
      service = await startTestApp({
        config: { plugins: PLUGINS, server: { port: 0, trustProxy: 1 }, auth, ...redis },
      });
    });
    after(() => service.close());

    const withKey = async () => {
      const { key } = await service.newKey({ tier: 'free', limit_per_minute: null });
      return (path: string, init: { method?: string } = {}) =>
        request(`${service.url}${path}`, { ...init, headers: { Authorization: `Bearer ${key}` } });
    };
    const usedOf = ({ json }: TestResponse) => [
      json.data.map(({ requests, refused }: { requests: number; refused: number }) => [requests, refused]),
      json.limits[1].used,
    ];

    it('uses no quota, is not part of the usage, and works after a quota is used up', async () => {
      const get = await withKey();
      for (let i = 0; i < 4; i++) expect(usedOf(await get('/usage'))).to.deep.equal([[], 0]);
      for (let i = 0; i < 3; i++) expect((await get('/markets')).status).to.equal(200);
      expect((await get('/markets')).json.code).to.equal('quota_exceeded');
      // Rejected requests can take up to a second to appear in the usage.
      await delay(1200);
      const { status, json } = await get('/usage');
      expect(status).to.equal(200);
      expect(usedOf({ json } as TestResponse)).to.deep.equal([[[3, 1]], 3]);
    });

    it("has a separate limit per minute, equal to the key's limit, and its 429s are not part of the usage", async () => {
      const get = await withKey();
      for (let i = 0; i < 6; i++) expect((await get('/usage', i % 2 ? { method: 'HEAD' } : {})).status).to.equal(200);
      const { status, json, headers } = await get('/usage');
      expect([status, json.code]).to.deep.equal([429, 'rate_limited']);
      expect(headers['ratelimit-policy']).to.equal('"default";q=6;w=60');
      expect(Number(headers['retry-after'])).to.be.within(1, 61);
      expect((await get('/markets')).headers['ratelimit']).to.match(/^"day";r=2;/);
    });

    it('counts as an ordinary request if it is invalid or has a wrong key', async () => {
      const get = await withKey();
      expect((await get('/usage?limit=1')).status).to.equal(400);
      expect(usedOf(await get('/usage'))).to.deep.equal([[[1, 0]], 1]);
      const headers = { 'X-Forwarded-For': '192.0.2.200' };
      await request(`${service.url}/usage`, { headers: { ...headers, Authorization: 'Bearer wrong' } });
      expect(usedOf(await request(`${service.url}/usage`, { headers }))).to.deep.equal([[[1, 0]], 1]);
    });
  });
}
