/** A request must never cause an unbounded amount of work. */
import { expect } from 'chai';
import { partOf } from '../../../core/app/create-app.js';
import { dataRoute, definePlugin } from '../../../core/contracts/plugin.js';
import { request, type TestRequest } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const LIMIT = 5;
const KILOBYTES = 15;
const filled = (text: string): string => text.repeat(Math.floor((KILOBYTES * 1024) / text.length));

describe('the work of one request', () => {
  let service: TestApp;

  before(async () => {
    service = await startTestApp({ config: { limits: { requestsPerMinute: LIMIT } } });
  });
  after(() => service.close());

  const health = (query = '', headers: Record<string, string> = {}) =>
    request(`${service.url}/health${query}`, { headers });

  // If the service parsed the headers, it would compress the response or respond with a 406 or a 304.
  for (const [name, value] of [
    ['Accept', filled('a/b,')],
    ['Accept', `a/b${filled(';x=y')}`],
    ['Accept', `a/b;x="${filled('\\"')}"`],
    ['Accept-Encoding', `identity;q=0,${filled('gzip,')}`],
    ['If-None-Match', filled('"x",')],
  ] as const) {
    it(`does not grow with ${name}: ${value.slice(0, 16)}...`, async () => {
      for (const target of ['/health', '/openapi.json']) {
        const { status, headers } = await service.get(target, { headers: { [name]: value } });
        expect([status, headers['content-encoding']]).to.deep.equal([200, undefined]);
      }
    });
  }

  it('negotiates headers of normal length', async () => {
    expect((await health('', { Accept: 'text/html' })).status).to.equal(406);
    expect((await health('', { Accept: `${'a/b,'.repeat(100)}application/json` })).status).to.equal(200);
  });

  it('an error has at most 20 details', async () => {
    const { status, json, text } = await service.get(`/movers?${'limit=x&'.repeat(50)}`);
    expect([status, json.details.length]).to.deep.equal([400, 20]);
    expect(text.length).to.be.below(4096);
  });

  for (const [what, target] of [
    ['the name of a parameter', (text: string) => `/movers?${text}=1`],
    ['the names of 20 parameters', (text: string) => `/movers?${`${text.slice(0, 350)}=1&`.repeat(20)}`],
    ['a name with an invalid encoding', (text: string) => `/movers?${text}%zz=1`],
    ['a path with an invalid encoding', (text: string) => `/${text}%zz`],
    ['a path parameter', (text: string) => `/markets/${text}`],
    ['a path parameter with an invalid encoding', (text: string) => `/markets/${text}%zz`],
    ['a path', (text: string) => `/${text}`],
    ['an integer', (text: string) => `/movers?limit=${text}`],
    ['a signal', (text: string) => `/markets?signal=${text}`],
    ['a sort', (text: string) => `/markets?sort=-${text}`],
    ['a field', (text: string) => `/markets?fields=cbsa,${text}`],
    ['a state', (text: string) => `/markets?state=TX,${text}`],
    ['a series', (text: string) => `/observations?series_id=${text}`],
    ['a date', (text: string) => `/observations?series_id=UNRATE&since=${text}`],
    ['a cursor of a list', (text: string) => `/markets?limit=1&after=${text}`],
    ['a date of a snapshot', (text: string) => `/markets?as_of=${text}`],
  ] as const) {
    it(`an error quotes an excerpt of ${what}, and no key`, async () => {
      for (const text of ['x-'.repeat(3500), '%22%0a'.repeat(1150)]) {
        const { status, text: body } = await service.get(target(text));
        expect(status).to.be.within(400, 404);
        expect(body.length).to.be.below(what === 'the names of 20 parameters' ? 4500 : 700);
      }
      for (const text of [service.key, service.key.slice(4), `x-${service.key}`]) {
        const { status, text: body } = await service.get(target(text));
        expect(status).to.be.within(400, 404);
        expect(body).to.not.contain(service.key.slice(4));
      }
    });
  }

  it('a query has at most 100 parameters', async () => {
    const parameters = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=1`).join('&');
    const { json: unknown } = await service.get(`/movers?${parameters(100)}`);
    expect([unknown.code, unknown.details.length]).to.deep.equal(['unknown_parameter', 20]);
    for (const query of [parameters(101), '&'.repeat(2000), 'a&'.repeat(2000)]) {
      const { status, json, text } = await service.get(`/movers?${query}`);
      expect([status, json.code, json.details]).to.deep.equal([400, 'invalid_parameter', undefined]);
      expect(text.length).to.be.below(200);
    }
  });

  it('an error for a path without an endpoint counts against the limit', async () => {
    const invalid = Array.from({ length: LIMIT + 1 }, (_, i) => `?a${i}`);
    const statuses = [];
    for (const query of invalid) statuses.push((await health(query)).status);
    expect(statuses.slice(-1)).to.deep.equal([429]);
    expect((await health()).status).to.equal(200);
  });

  for (const path of ['/health', '/ready']) {
    for (const [what, status, query, sent] of [
      ['an unknown parameter', 400, '?a', {}],
      ['malformed percent-encoding', 400, '?%zz', {}],
      ['a target that is too long', 414, `?${'x'.repeat(9000)}`, {}],
      ['POST', 405, '', { method: 'POST' }],
      ['POST with a body', 405, '', { method: 'POST', body: '{}' }],
      ['DELETE', 405, '', { method: 'DELETE' }],
      ['a body', 400, '', { headers: { 'Content-Length': '2' }, body: '{}' }],
      ['an Accept that excludes JSON', 406, '', { headers: { Accept: 'text/html' } }],
    ] as const) {
      it(`${path} with ${what} counts against the limit, and does not count without a key`, async () => {
        const { key } = await service.newKey({ limit_per_minute: 2 });
        const send = (target: string, more: TestRequest) =>
          service.get(target, { ...more, headers: { ...more.headers, Authorization: `Bearer ${key}` } });
        const good = async () => {
          for (const method of ['GET', 'HEAD', 'OPTIONS']) {
            const { status: found, headers } = await send(path, { method });
            expect([found, headers['ratelimit']]).to.deep.equal([method === 'OPTIONS' ? 204 : 200, undefined]);
          }
        };
        await good();
        for (const left of [1, 0]) {
          const { status: found, headers } = await send(path + query, sent);
          expect(found).to.equal(status);
          expect(headers['ratelimit']).to.match(new RegExp(`^"default";r=${left};`));
        }
        expect((await send(path + query, sent)).status).to.equal(429);
        await good();
      });
    }
  }

  it('GET /health pings the store at most ten times per second', async () => {
    const adapter = partOf(service.app, 'adapter');
    const { ping } = adapter;
    let pings = 0;
    adapter.ping = (...args) => {
      pings++;
      return ping.apply(adapter, args);
    };
    const since = performance.now();
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 20 }, () => health()));
    adapter.ping = ping;
    expect(pings).to.be.within(1, 1 + Math.ceil((performance.now() - since) / 100));
  });
});

describe('a data route whose handler never ends', () => {
  let service: TestApp;
  let isStuck = true;

  before(async () => {
    const wait = () => (isStuck ? new Promise<never>(() => undefined) : Promise.resolve());
    const schema = { type: 'object', properties: { data: { type: 'array', items: { type: 'object' } } } } as const;
    const response = { description: 'Nothing.', schema, example: { data: [] } };
    const stuck = definePlugin({
      name: 'stuck',
      version: '1.0.0',
      description: 'Handlers that never end.',
      routes: () => [
        dataRoute({
          path: '/stuck',
          operationId: 'listStuck',
          summary: 'Nothing',
          response,
          handler: async () => {
            await wait();
            return { data: [] };
          },
        }),
        dataRoute({
          path: '/stuck-input',
          operationId: 'listStuckInput',
          summary: 'Nothing',
          response,
          normalizeIn: async (input) => {
            await wait();
            return input;
          },
          handler: async () => ({ data: [] }),
        }),
      ],
    });
    service = await startTestApp({ config: { http: { answerMs: 200 } }, overrides: { plugins: [{ plugin: stuck }] } });
  });
  after(() => service.close());

  for (const path of ['/stuck', '/stuck-input']) {
    it(`sends 503, serves other requests of the caller, and recovers (${path})`, async () => {
      isStuck = true;
      const since = performance.now();
      const responses = await Promise.all([service.get(path), service.get(path), service.get('/markets?limit=1')]);
      expect(responses.map(({ status }) => status)).to.deep.equal([503, 503, 200]);
      expect(performance.now() - since).to.be.within(900, 10_000);
      isStuck = false;
      expect((await service.get(path)).status).to.equal(200);
    });
  }
});
