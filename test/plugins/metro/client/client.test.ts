import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { ApiError, type CachedResponse, createClient, type Market } from '../../../../plugins/metro/client/index.js';
import * as fixture from '../../../support/fixture.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const rejected = async (promise: Promise<unknown>): Promise<ApiError> => {
  try {
    await promise;
  } catch (error) {
    return error as ApiError;
  }
  throw new Error('It was answered.');
};

describe('createClient()', () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp();
  });
  after(() => app.close());

  const client = (options: Partial<Parameters<typeof createClient>[0]> = {}) =>
    createClient({ baseUrl: app.url, key: app.key, ...options });

  it('returns data from the API with the type of the path', async () => {
    const { data } = await client().get('/markets');
    const first: Market = data[0]!;
    expect({ data }).to.deep.equal((await app.get('/markets')).json);
    expect(await client().get('/markets/{cbsa}', { cbsa: first.cbsa })).to.deep.equal(first);
    const narrowed = await client().get('/observations', { series_id: ['metro_hpi'], cbsa: [fixture.HOUSTON] });
    expect(narrowed.data.map(({ value }) => value)).to.deep.equal([300.1, 306.12]);
    const movers = await client().get('/movers', { limit: 1 });
    const chosen = await client().get('/markets', { fields: ['signal'], sort: ['signal', '-name'] });
    expect(Object.keys(chosen.data[0]!)).to.deep.equal(['cbsa', 'name', 'signal']);
    expect(movers.data[0]!.delta_pp).to.be.a('number');
  });

  it('does not compile with invalid calls', () => {
    const neverCalled = async () => {
      // @ts-expect-error: unknown path
      await client().get('/market');
      // @ts-expect-error: the code is required
      await client().get('/markets/{cbsa}');
      // @ts-expect-error: limit must be a number
      await client().get('/movers', { limit: 'all' });
      // @ts-expect-error: unknown parameter
      await client().get('/movers', { limt: 3 });
      // @ts-expect-error: invalid column
      await client().get('/markets', { fields: ['nam'] });
      // @ts-expect-error: invalid signal
      return (await client().get('/markets')).data[0]?.signal === 'buy';
    };
    expect(neverCalled).to.be.a('function');
  });

  it('accepts a base URL with a trailing slash, and needs no key for public endpoints', async () => {
    const open = createClient({ baseUrl: `${app.url}/` });
    expect(await open.get('/health')).to.deep.equal({ status: 'ok' });
    const error = await rejected(open.get('/markets'));
    expect(error).to.be.instanceOf(ApiError).and.to.include({ status: 401, code: 'missing_api_key', retryAfter: null });
  });

  it('throws errors with message, code, details and request id', async () => {
    const error = await rejected(client().get('/observations', { series_id: ['UNRATE'], since: 'soon' }));
    expect(error).to.be.instanceOf(ApiError);
    expect(error).to.include({ status: 400, code: 'invalid_parameter' });
    expect(error.message).to.contain('"since"');
    expect(error.details).to.deep.equal([
      { in: 'query', name: 'since', issue: 'must be a calendar date, such as 2024-01-31' },
    ]);
    expect(error.requestId).to.match(/\S/);
  });

  it('escapes path parameters', async () => {
    const error = await rejected(client().get('/markets/{cbsa}', { cbsa: '26420/history' }));
    expect(error).to.include({ status: 400, code: 'invalid_parameter' });
  });

  it('does not wait longer than its maximum for an exhausted limit', async () => {
    const { key } = await app.newKey({ limit_per_minute: 1 });
    const limited = client({ key, maxWaitSeconds: 0 });
    await limited.get('/movers');
    const error = await rejected(limited.get('/movers'));
    expect(error).to.include({ status: 429, code: 'rate_limited' });
    expect(error.retryAfter).to.be.within(1, 60);
  });

  it('revalidates responses if it has a cache, and reports every response', async () => {
    const cache = new Map<string, CachedResponse>();
    const statuses: number[] = [];
    const caching = client({ cache, onResponse: ({ status }) => statuses.push(status) });
    const first = await caching.get('/markets');
    expect(await caching.get('/markets')).to.equal(first);
    expect(statuses).to.deep.equal([200, 304]);
  });
});

describe('createClient() with a service that fails', () => {
  let server: Server;
  let calls: number;
  let respond: RequestListener;
  before(async () => {
    server = createServer((request, response) => {
      calls++;
      respond(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => {
    calls = 0;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const client = (options: object = {}) => {
    const { port } = server.address() as { port: number };
    return createClient({ baseUrl: `http://127.0.0.1:${port}`, ...options });
  };
  const fail =
    (status: number, retryAfter: string): RequestListener =>
    (_request, response) => {
      response.writeHead(status, { 'Retry-After': retryAfter });
      response.end(JSON.stringify({ error: 'Later.', code: 'service_unavailable' }));
    };
  const succeed: RequestListener = (_request, response) => void response.end('{"status":"ok"}');

  for (const status of [429, 503]) {
    it(`retries after a ${status} with Retry-After`, async () => {
      respond = (...args) => (calls < 3 ? fail(status, '0') : succeed)(...args);
      expect(await client().get('/health')).to.deep.equal({ status: 'ok' });
      expect(calls).to.equal(3);
    });
  }

  it('retries after a broken connection', async () => {
    respond = (request, response) => (calls < 2 ? void request.socket.destroy() : succeed(request, response));
    expect(await client().get('/health')).to.deep.equal({ status: 'ok' });
    expect(calls).to.equal(2);
  });

  it('gives up after the maximum number of retries, with the last error', async () => {
    respond = fail(503, '0');
    const error = await rejected(client({ retries: 2 }).get('/health'));
    expect([calls, error.status, error.code, error.message]).to.deep.equal([3, 503, 'service_unavailable', 'Later.']);
  });

  it('does not retry errors that a retry cannot fix', async () => {
    respond = fail(500, '0');
    expect((await rejected(client().get('/health'))).status).to.equal(500);
    expect(calls).to.equal(1);
  });

  it('stops waiting when it is aborted', async () => {
    const controller = new AbortController();
    respond = fail(503, '50');
    const waiting = rejected(
      client({ onResponse: () => setImmediate(() => controller.abort(new Error('enough'))) }).get(
        '/health',
        undefined,
        {
          signal: controller.signal,
        },
      ),
    );
    expect((await waiting).message).to.equal('enough');
    expect(calls).to.equal(1);
  });

  it('reports the status of a response that is not JSON', async () => {
    respond = (_request, response) => void response.writeHead(502).end('<html>');
    const error = await rejected(client().get('/health'));
    expect([error.status, error.code, error.message]).to.deep.equal([
      502,
      'unknown',
      'The service responded with status 502.',
    ]);
  });
});

describe('the files of the client', () => {
  it('have no imports, so that browsers can load them unchanged', async () => {
    const built = await readFile(
      fileURLToPath(new URL('../../../../plugins/metro/client/index.js', import.meta.url)),
      'utf8',
    );
    expect(built).to.not.match(/^\s*(import|export .* from)\b/m);
    expect(built).to.not.match(/\b(process|Buffer|require)\b/);
  });
});
