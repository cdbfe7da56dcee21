import { expect } from 'chai';
import { createKey } from '../../../core/keys/key.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

describe('API keys', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  const PROTECTED = [
    '/markets',
    '/markets/26420',
    '/markets/26420/history',
    '/markets/26420/forecast-track',
    '/movers',
    '/forecast-backtest',
    '/forecasts',
    '/forecasts/26420/history',
    '/forecast-runs',
    '/observations?series_id=UNRATE',
    '/series',
    '/signals',
  ];
  for (const path of PROTECTED) {
    it(`GET ${path} without a key is a 401 missing_api_key`, async () => {
      const { status, json, headers } = await request(`${service.url}${path}`);
      expect([status, json.code]).to.deep.equal([401, 'missing_api_key']);
      expect(headers['www-authenticate']).to.equal('Bearer realm="metro-forecast"');
      expect((await service.get(path)).status).to.equal(200);
    });
  }

  it('a key and its successor share one limit', async () => {
    const old = await service.newKey({ limit_per_minute: 3 });
    const successor = await service.newKey({ limit_per_minute: 3, shares_limit_of: old.id });
    const statuses = [];
    for (const { key } of [old, successor, old, successor, old]) {
      const headers = { Authorization: `Bearer ${key}` };
      statuses.push((await request(`${service.url}/markets`, { headers })).status);
    }
    expect(statuses).to.deep.equal([200, 200, 200, 429, 429]);
  });

  it('a request without a key gets no other error', async () => {
    for (const path of ['/markets/99999', '/markets/x', '/observations', '/movers?limit=x']) {
      expect((await request(`${service.url}${path}`)).status, path).to.equal(401);
    }
  });

  it('malformed, unknown, expired, revoked and unentitled keys get the same 401', async () => {
    const unknown = createKey().key;
    const revoked = await service.newKey({ revoked_at: '2026-01-02T00:00:00Z' });
    const expired = await service.newKey({ expires_at: '2026-01-02T00:00:00Z' });
    const untitled = await service.newKey({ tier: 'free' });
    const bodies = new Set<string>();
    for (const credentials of [
      'Bearer nonsense',
      'Bearer',
      'Basic dXNlcjpwYXNz',
      service.key,
      `Bearer ${service.key}x`,
      `Bearer ${service.key} ${service.key}`,
      `Bearer ${unknown}`,
      `Bearer ${revoked.key}`,
      `Bearer ${expired.key}`,
      `Bearer ${untitled.key}`,
    ]) {
      const { status, text, json, headers } = await service.get('/markets', {
        headers: { Authorization: credentials },
      });
      expect([status, json.code], credentials.slice(0, 12)).to.deep.equal([401, 'invalid_api_key']);
      expect(headers['www-authenticate']).to.equal('Bearer realm="metro-forecast", error="invalid_token"');
      bodies.add(text);
    }
    expect(bodies.size).to.equal(1);
  });

  it('the scheme is case-insensitive', async () => {
    const { status } = await service.get('/markets', { headers: { Authorization: `bearer ${service.key}` } });
    expect(status).to.equal(200);
  });

  it('two Authorization headers are a 401', async () => {
    const { status } = await service.get('/markets', {
      headers: { Authorization: [`Bearer ${service.key}`, `Bearer ${service.key}`] },
    });
    expect(status).to.equal(401);
  });

  it('a key in the query is ignored as a credential', async () => {
    expect((await request(`${service.url}/markets?api_key=${service.key}`)).status).to.equal(401);
  });

  it('a revocation takes effect at once', async () => {
    const { key, id } = await service.newKey();
    const headers = { Authorization: `Bearer ${key}` };
    expect((await service.get('/markets', { headers })).status).to.equal(200);
    await service.keys.update(id, { revoked_at: '2026-01-02T00:00:00Z' });
    expect((await service.get('/markets', { headers })).status).to.equal(401);
  });

  it('GET /status with an invalid key is a 200', async () => {
    const { status } = await service.get('/status', { headers: { Authorization: 'Bearer nonsense' } });
    expect(status).to.equal(200);
  });
});

describe('limits', () => {
  let service: TestApp;
  let time = 0;
  before(async () => {
    const clock = { now: () => Date.parse('2026-03-03T00:00:00Z') + time, monotonic: () => time };
    service = await startTestApp({ config: { limits: { requestsPerMinute: 3 } }, overrides: { clock } });
  });
  after(() => service.close());
  beforeEach(() => {
    time += 1_000_000;
  });

  const call = async (key: string, path = '/markets', ip?: string) =>
    service.get(path, {
      headers: { Authorization: key === '' ? '' : `Bearer ${key}`, ...(ip ? { 'X-Forwarded-For': ip } : {}) },
    });

  it('a key gets its limit, then 429 with Retry-After, then requests again as the window slides', async () => {
    const { key } = await service.newKey({ limit_per_minute: 2 });
    const first = await call(key);
    expect(first.headers['ratelimit-policy']).to.equal('"default";q=2;w=60');
    expect(first.headers['ratelimit']).to.equal('"default";r=1;t=60');
    time += 20_000;
    expect((await call(key)).headers['ratelimit']).to.equal('"default";r=0;t=40');
    const refused = await call(key);
    expect([refused.status, refused.json.code]).to.deep.equal([429, 'rate_limited']);
    expect(refused.headers['retry-after']).to.equal('40');
    expect(refused.headers['ratelimit']).to.equal('"default";r=0;t=40');
    time += 39_999;
    expect((await call(key)).status).to.equal(429);
    time += 1;
    expect((await call(key)).status).to.equal(200);
    expect((await call(key)).status).to.equal(429);
  });

  it('every authenticated request counts, whatever its status, except a 429', async () => {
    const { key } = await service.newKey({ limit_per_minute: 5 });
    const statuses = [];
    for (const path of ['/markets', '/markets/99999', '/markets/x', '/nowhere', '/observations', '/markets']) {
      statuses.push((await call(key, path)).status);
    }
    expect(statuses).to.deep.equal([200, 404, 400, 404, 400, 429]);
    time += 60_000;
    expect((await call(key)).headers['ratelimit']).to.equal('"default";r=4;t=60');
  });

  it('a 304 counts', async () => {
    const { key } = await service.newKey({ limit_per_minute: 2 });
    const { headers } = await call(key);
    const again = await service.get('/markets', {
      headers: { Authorization: `Bearer ${key}`, 'If-None-Match': headers.etag! },
    });
    expect([again.status, again.headers['ratelimit']]).to.deep.equal([304, '"default";r=0;t=60']);
  });

  it('a key does not use the limit of another key', async () => {
    const one = await service.newKey({ limit_per_minute: 1 });
    const other = await service.newKey({ limit_per_minute: 1 });
    expect([(await call(one.key)).status, (await call(other.key)).status]).to.deep.equal([200, 200]);
    expect((await call(one.key)).status).to.equal(429);
  });

  it('requests without a valid key count against the address, except for /health', async () => {
    const statuses = [];
    for (let count = 0; count < 4; count++) {
      expect((await call('', '/health')).status).to.equal(200);
      statuses.push((await call(count % 2 ? '' : 'wrong')).status);
    }
    expect(statuses).to.deep.equal([401, 401, 401, 429]);
    expect((await call('', '/status')).status).to.equal(429);
    const { key } = await service.newKey();
    expect((await call(key)).status).to.equal(200);
  });

  it('X-Forwarded-For is ignored if no proxy is trusted', async () => {
    for (let count = 0; count < 3; count++) await call('', '/status', `192.0.2.${count}`);
    expect((await call('', '/status', '192.0.2.9')).status).to.equal(429);
  });
});
