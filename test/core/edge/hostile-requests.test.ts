import { expect } from 'chai';
import fc from 'fast-check';
import { collectGarbage } from '../../../adapters/conformance/collect-garbage.js';
import { createKey } from '../../../core/keys/key.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { exchange, type RawOptions, type RawResponse } from '../../support/raw-http.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { hostileRequests } from './hostile-requests.js';

const heapUsed = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

const builtinNames = () =>
  [Object, Array, Function, String, Promise].map(({ prototype }) => Reflect.ownKeys(prototype).map(String));

const expectErrorBody = ({ headers, body }: RawResponse): string => {
  expect(headers['content-type']).to.equal('application/json; charset=utf-8');
  expect(headers['x-request-id']).to.be.a('string');
  expect(headers['content-security-policy']).to.be.a('string');
  const { error, code, details, ...rest } = JSON.parse(body);
  expect(error).to.be.a('string');
  expect(rest).to.deep.equal({});
  if (details) for (const detail of details) expect(detail).to.have.all.keys('in', 'name', 'issue');
  return code;
};

describe('hostile requests', () => {
  // Requests in the list contain this key, so it must exist before the service starts.
  const { key, hash, id } = createKey();
  const requests = hostileRequests(key);
  const statuses = new Map<number, number>();
  let service: TestApp;
  let port: number;
  let names: string[][];
  let heap: number;

  before(async () => {
    const keys = new MemoryKeyStore();
    const created_at = '2026-01-01T00:00:00Z';
    const record = { id, hash, name: 'test', tier: 'enterprise', limit_per_minute: 1e6, created_at };
    await keys.insert({ ...record, expires_at: null, revoked_at: null });
    service = await startTestApp({ overrides: { keyStore: keys } });
    port = Number(new URL(service.url).port);
    names = builtinNames();
    heap = heapUsed();
  });
  after(() => service.close());

  const send = async (bytes: string | Buffer, options?: RawOptions) => {
    const result = await exchange(port, bytes, options);
    for (const { status } of result.responses) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    return result;
  };

  it('include at least 200 requests with different names', () => {
    expect(requests.length).to.be.at.least(200);
    expect(new Set(requests.map(({ name }) => name)).size).to.equal(requests.length);
  });

  for (const { name, bytes, status, code, closed = false } of requests) {
    it(`${name}: ${status}${closed ? ', closed' : ''}`, async () => {
      const result = await send(bytes);
      const [response] = result.responses;
      expect([response?.status, result.responses.length]).to.deep.equal([status, 1]);
      if (code) expect(expectErrorBody(response!)).to.equal(code);
      if (closed) expect(result.closed).to.equal(true);
      expect(result.rest).to.equal('');
    });
  }

  const valid = (path: string) => `GET /api/v1${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`;

  it('1,000 pipelined requests get their responses in order', async () => {
    const paths = Array.from(
      { length: 1000 },
      (_, i) => ['/markets/12060', '/markets/99999', '/movers?limit=x'][i % 3]!,
    );
    const { responses } = await send(paths.map(valid).join(''), { responses: paths.length });
    expect(responses.map(({ status }) => status)).to.deep.equal(paths.map((_, i) => [200, 404, 400][i % 3]));
  });

  it('a malformed request after other requests gets none of their responses, and at most one of its own', async () => {
    for (const before of [1, 2, 50]) {
      const { responses, closed, rest } = await send(`${valid('/markets').repeat(before)}nonsense\r\n\r\n`, {
        responses: before + 1,
      });
      const answered = responses.map(({ status }) => status);
      expect(answered.slice(0, before)).to.deep.equal(new Array(before).fill(200));
      expect(answered.slice(before)).to.satisfy((more: number[]) => more.length === 0 || more.join() === '400');
      expect([closed, rest]).to.deep.equal([true, '']);
    }
  });

  it('a request after a request that closes the connection gets no response', async () => {
    for (const rest of [valid('/markets'), 'nonsense\r\n\r\n', '\u0000'.repeat(5000)]) {
      const closing = valid('/markets').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
      const result = await send(closing + rest);
      expect(result.responses.map(({ status }) => status)).to.deep.equal([200]);
      expect([result.closed, result.rest]).to.deep.equal([true, '']);
    }
  });

  for (const protocol of ['websocket', 'h2c']) {
    it(`a request behind an upgrade to ${protocol} gets its own response or none`, async () => {
      const upgrade = valid('/markets').replace('\r\n\r\n', `\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
      const { responses, closed } = await send(upgrade + valid('/markets/99999') + valid('/movers'), { responses: 3 });
      expect(responses.map(({ status }) => status)).to.deep.equal([200]);
      expect([responses[0]!.headers['connection'], closed]).to.deep.equal(['close', true]);
    });
  }

  it('a request that is cut off at any point gets a 400 or no response', async () => {
    const whole = valid('/markets');
    for (let length = 0; length < whole.length; length += 7) {
      const { responses, closed } = await send(whole.slice(0, length), { end: true });
      expect(closed).to.equal(true);
      for (const response of responses)
        expect([response.status, expectErrorBody(response)]).to.deep.equal([400, 'invalid_parameter']);
    }
  });

  it('a valid request with replaced bytes gets an HTTP response or is closed, and never a 5xx', async () => {
    const whole = Buffer.from(valid('/movers?limit=5&x'));
    const edits = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(edits, async (changes) => {
        const bytes = Buffer.from(whole);
        for (const [at, byte] of changes) bytes[at] = byte;
        // A mutation can remove the blank line that ends the head, so another one is appended. Closing the connection
        // ends a body that is shorter than declared.
        const { responses } = await send(Buffer.concat([bytes, Buffer.from('\r\n\r\n')]), { end: true });
        for (const response of responses) {
          expect(response.status).to.be.within(200, 499);
          if (response.status >= 400) expectErrorBody(response);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('change neither built-in prototypes nor memory, nor the next response', async () => {
    expect(builtinNames()).to.deep.equal(names);
    expect(({} as Record<string, unknown>)['x']).to.equal(undefined);
    const [response] = (await send(valid('/markets'))).responses;
    expect(response?.status).to.equal(200);
    expect((heapUsed() - heap) / 2 ** 20).to.be.below(16);
  });

  it('never get a 500', () => {
    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    console.log(`      ${counts.join(', ')}`);
    expect([...statuses.keys()].filter((status) => status >= 500)).to.deep.equal([]);
  });
});
