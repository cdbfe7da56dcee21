/** The typed client, against a running service, and against one that fails on purpose. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { ApiError, type CachedResponse, createClient, type Market } from '../../../../plugins/metro/client/index.js';
import { runProcess } from '../../../support/command-process.js';
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

  it('answers as the API does, typed by path', async () => {
    const { data } = await client().get('/markets');
    const first: Market = data[0]!;
    expect({ data }).to.deep.equal((await app.get('/markets')).json);
    expect(await client().get('/markets/{cbsa}', { cbsa: first.cbsa })).to.deep.equal(first);
    const narrowed = await client().get('/observations', { series_id: 'metro_hpi', cbsa: fixture.HOUSTON });
    expect(narrowed.data.map(({ value }) => value)).to.deep.equal([300.1, 306.12]);
    const movers = await client().get('/movers', { limit: 1 });
    expect(movers.data[0]!.delta_pp).to.be.a('number');
  });

  it('is refused by the compiler what the API would refuse', () => {
    const neverCalled = async () => {
      // @ts-expect-error: there is no such path
      await client().get('/market');
      // @ts-expect-error: the code is required
      await client().get('/markets/{cbsa}');
      // @ts-expect-error: a limit is a number
      await client().get('/movers', { limit: 'all' });
      // @ts-expect-error: there is no such parameter
      await client().get('/movers', { limt: 3 });
      // @ts-expect-error: signals are three words
      return (await client().get('/markets')).data[0]?.signal === 'buy';
    };
    expect(neverCalled).to.be.a('function');
  });

  it('takes a base address with a slash at its end, and needs no key where the API needs none', async () => {
    const open = createClient({ baseUrl: `${app.url}/` });
    expect(await open.get('/health')).to.deep.equal({ status: 'ok' });
    const error = await rejected(open.get('/markets'));
    expect(error).to.be.instanceOf(ApiError).and.to.include({ status: 401, code: 'missing_api_key', retryAfter: null });
  });

  it('throws the sentence, the code, the details and the id of the request', async () => {
    const error = await rejected(client().get('/observations', { series_id: 'UNRATE', since: 'soon' }));
    expect(error).to.be.instanceOf(ApiError);
    expect(error).to.include({ status: 400, code: 'invalid_parameter' });
    expect(error.message).to.contain('"since"');
    expect(error.details).to.deep.equal([
      { in: 'query', name: 'since', issue: 'must be a date of the calendar, as in 2024-01-31' },
    ]);
    expect(error.requestId).to.match(/\S/);
  });

  it('escapes what it puts into a path', async () => {
    const error = await rejected(client().get('/markets/{cbsa}', { cbsa: '26420/history' }));
    expect(error).to.include({ status: 400, code: 'invalid_parameter' });
  });

  it('does not wait longer than it may for a limit that is used up', async () => {
    const { key } = await app.newKey({ limit_per_minute: 1 });
    const limited = client({ key, maxWaitSeconds: 0 });
    await limited.get('/movers');
    const error = await rejected(limited.get('/movers'));
    expect(error).to.include({ status: 429, code: 'rate_limited' });
    expect(error.retryAfter).to.be.within(1, 60);
  });

  it('with a cache, asks whether what it has is current, and is told of every response', async () => {
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
  let answer: RequestListener;
  before(async () => {
    server = createServer((request, response) => {
      calls++;
      answer(request, response);
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
  const refuse =
    (status: number, retryAfter: string): RequestListener =>
    (_request, response) => {
      response.writeHead(status, { 'Retry-After': retryAfter });
      response.end(JSON.stringify({ error: 'Later.', code: 'service_unavailable' }));
    };
  const succeed: RequestListener = (_request, response) => void response.end('{"status":"ok"}');

  for (const status of [429, 503]) {
    it(`asks again after a ${status}, when Retry-After says so`, async () => {
      answer = (...args) => (calls < 3 ? refuse(status, '0') : succeed)(...args);
      expect(await client().get('/health')).to.deep.equal({ status: 'ok' });
      expect(calls).to.equal(3);
    });
  }

  it('asks again after a connection that broke', async () => {
    answer = (request, response) => (calls < 2 ? void request.socket.destroy() : succeed(request, response));
    expect(await client().get('/health')).to.deep.equal({ status: 'ok' });
    expect(calls).to.equal(2);
  });

  it('gives up after so many retries, with the last error', async () => {
    answer = refuse(503, '0');
    const error = await rejected(client({ retries: 2 }).get('/health'));
    expect([calls, error.status, error.code, error.message]).to.deep.equal([3, 503, 'service_unavailable', 'Later.']);
  });

  it('does not ask again where that would change nothing', async () => {
    answer = refuse(500, '0');
    expect((await rejected(client().get('/health'))).status).to.equal(500);
    expect(calls).to.equal(1);
  });

  it('ends a wait when it is aborted', async () => {
    const controller = new AbortController();
    answer = refuse(503, '50');
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

  it('says what came instead of an answer that is no JSON', async () => {
    answer = (_request, response) => void response.writeHead(502).end('<html>');
    const error = await rejected(client().get('/health'));
    expect([error.status, error.code, error.message]).to.deep.equal([
      502,
      'unknown',
      'The service responded with status 502.',
    ]);
  });
});

describe("the client's files", () => {
  it('have the types that the API has: `metro-forecast types > plugins/metro/client/api-types.ts`', async () => {
    const written = await readFile(join(packageRoot, 'plugins/metro/client/api-types.ts'), 'utf8');
    expect(written === (await runProcess(['types'], {})), 'plugins/metro/client/api-types.ts is current').to.equal(
      true,
    );
  });

  it('import nothing, so that a browser can load them as they are', async () => {
    const built = await readFile(
      fileURLToPath(new URL('../../../../plugins/metro/client/index.js', import.meta.url)),
      'utf8',
    );
    expect(built).to.not.match(/^\s*(import|export .* from)\b/m);
    expect(built).to.not.match(/\b(process|Buffer|require)\b/);
  });
});
