import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { type MiddlewareApp, startMiddlewareApp } from '../../support/middleware-app.js';
import { exchange, type RawOptions } from '../../support/raw-http.js';

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const inChunks = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const AT_ONCE_MS = 5000;

describe('bodies of requests', () => {
  let service: MiddlewareApp;
  let port: number;

  before(async () => {
    service = await startMiddlewareApp({
      metrics: { port: 0 },
      log: { level: 'info', addresses: 'full' },
    });
    port = Number(new URL(service.url).port);
  });
  beforeEach(() => service.logger.lines.splice(0));
  after(() => service.close());

  const post = (fields: string, body: string, { path = '/mcp', version = '1.1' } = {}): string =>
    [
      `POST ${path} HTTP/${version}`,
      'Host: test',
      `Authorization: Bearer ${service.key}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2025-06-18',
      `${fields}\r\n${body}`,
    ].join('\r\n');
  const get = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${service.key}\r\n\r\n`;

  const send = async (bytes: string, options?: RawOptions) => {
    const since = performance.now();
    const { responses, closed, rest } = await exchange(port, bytes, options);
    expect(performance.now() - since).to.be.below(AT_ONCE_MS);
    const statuses = responses.map(({ status }) => status);
    const codes = responses.map(({ body, headers }) =>
      headers['content-type']?.startsWith('application/json') ? JSON.parse(body).code : undefined,
    );
    return { statuses, codes, closed, rest };
  };

  const counted = async (route: string): Promise<Record<string, number>> => {
    const { text: metrics } = await request(service.metricsUrl!);
    const counts = metrics.matchAll(/^http_request_duration_seconds_count\{route="([^"]+)",status="(\d+)"\} (\d+)$/gm);
    const own = [...counts].filter(([, of]) => of === route).map(([, , status, count]) => [status!, Number(count)]);
    const failed = /^http_server_errors_total\{status="500"\} (\d+)$/m.exec(metrics)?.[1];
    return { ...Object.fromEntries(own), failed: Number(failed) };
  };

  const expectNoFault = () =>
    expect(service.logger.lines.filter((line) => !line.startsWith('info: '))).to.deep.equal([]);

  for (const [what, body] of [
    ['a size that is no number', 'zz\r\n'],
    ['a size that is no number, behind a good chunk', '4\r\n{"js\r\nzz\r\n'],
    ['a size without digits', '\r\n{"a":1}\r\n'],
    ['a size that is too large', 'ffffffffffffffffff\r\n'],
    ['a negative size', '-1\r\n'],
    ['a size ended by a bare line feed', '4\nabcd'],
    ['a chunk that is longer than its size', '4\r\nabcdef\r\n0\r\n\r\n'],
    ['a chunk that is ended by a bare line feed', '4\r\nabcd\n0\r\n\r\n'],
    ['extensions without end', `4;${'x'.repeat(20_000)}`],
    ['a trailer that is no field', `${inChunks(PING).slice(0, -2)}no field\r\n\r\n`],
    ['trailers without end', `${inChunks(PING).slice(0, -2)}X: ${'x'.repeat(60_000)}`],
  ] as const) {
    for (const path of ['/mcp', '/mount']) {
      it(`POST ${path} with ${what}: 400 at once, closed`, async () => {
        service.use({
          async mount(ctx) {
            ctx.body = await text(ctx.req);
          },
        });
        const { statuses, codes, closed, rest } = await send(post(CHUNKED, body, { path }));
        expect([statuses, codes]).to.deep.equal([[400], ['invalid_parameter']]);
        expect([closed, rest]).to.deep.equal([true, '']);
        expectNoFault();
      });
    }
  }

  it('a malformed body fails only its request, even if it is read late or the response is not the first', async () => {
    service.use({
      async mount(ctx) {
        await new Promise((later) => setTimeout(later, 50));
        ctx.body = await text(ctx.req);
      },
    });
    const bad = post(CHUNKED, 'zz\r\n', { path: '/mount' });
    expect((await send(bad)).statuses).to.deep.equal([400]);
    const good = post('Content-Length: 4\r\n', 'abcd', { path: '/mount' });
    const { statuses, closed, rest } = await send(good + get('/api/v1/things') + bad, { responses: 3 });
    expect([statuses, closed, rest]).to.deep.equal([[200, 200, 400], true, '']);
    expectNoFault();
  });

  it('a malformed body after its response gets no second response', async () => {
    service.use({
      mount(ctx) {
        ctx.body = 'unread';
      },
    });
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(post(CHUNKED, '4\r\nabcd\r\n', { path: '/mount' }));
    while (!received.includes('unread')) await new Promise((next) => setTimeout(next, 10));
    socket.write('zz\r\n');
    await closed;
    expect(received.match(/HTTP\/1\.1/g)).to.have.length(1);
  });

  for (const [what, fields] of [
    ['a length', 'Content-Length: 100\r\n'],
    ['chunks', CHUNKED],
  ] as const) {
    it(`POST /mcp with ${what} whose client disconnects halfway: no internal error`, async () => {
      const before = await counted('/mcp');
      const socket = connect(port, '127.0.0.1');
      socket.write(post(fields, fields === CHUNKED ? '14\r\n{"js' : '{"js'));
      await new Promise((later) => setTimeout(later, 50));
      socket.resetAndDestroy();
      let after = await counted('/mcp');
      for (; after['400'] === before['400']; after = await counted('/mcp')) {
        await new Promise((next) => setTimeout(next, 10));
      }
      expect(after).to.deep.equal({ ...before, 400: (before['400'] ?? 0) + 1 });
      expectNoFault();
    });

    it(`POST /mcp with ${what} whose client half-closes: 400, closed`, async () => {
      const { statuses, codes, closed } = await send(post(fields, fields === CHUNKED ? '14\r\n{"js' : '{"js'), {
        end: true,
      });
      expect([statuses, codes, closed]).to.deep.equal([[400], ['invalid_parameter'], true]);
      expectNoFault();
    });
  }

  it('an error of the handler is an internal error, even if the client has disconnected', async () => {
    let left: Promise<unknown> | undefined;
    service.use({
      async mount(ctx) {
        left = text(ctx.req).catch(() => undefined);
        await left;
        throw new Error('a fault');
      },
    });
    const before = await counted('/mount');
    const socket = connect(port, '127.0.0.1');
    socket.write(post('Content-Length: 100\r\n', '{"js', { path: '/mount' }));
    await new Promise((later) => setTimeout(later, 50));
    socket.resetAndDestroy();
    while (service.logger.lines.length < 2) await new Promise((next) => setTimeout(next, 10));
    expect(service.logger.lines).to.include('error: a request failed');
    expect((await counted('/mount'))['failed']).to.equal(before['failed']! + 1);
  });

  it("a body that is too large: 413, closed, and logged with the client's address", async () => {
    for (const fields of ['Content-Length: 1000000\r\n', CHUNKED]) {
      const body = fields === CHUNKED ? `${(70_000).toString(16)}\r\n${'x'.repeat(70_000)}\r\n` : 'x'.repeat(70_000);
      const { statuses, codes, closed } = await send(post(fields, body));
      expect([statuses, codes, closed]).to.deep.equal([[413], ['payload_too_large'], true]);
    }
    expect(service.logger.lines).to.deep.equal(['info: request', 'info: request']);
  });

  for (const [what, fields, options] of [
    ['chunked in HTTP/1.0', CHUNKED, { version: '1.0' }],
    ['chunked in HTTP/1.0, kept alive', `Connection: keep-alive\r\n${CHUNKED}`, { version: '1.0' }],
    ['chunked in HTTP/1.0, with a length', `Content-Length: 4\r\n${CHUNKED}`, { version: '1.0' }],
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n', {}],
    ['gzip and chunked in two fields', `Transfer-Encoding: gzip\r\n${CHUNKED}`, {}],
    ['chunked twice', CHUNKED + CHUNKED, {}],
    ['identity, chunked', 'Transfer-Encoding: identity, chunked\r\n', {}],
    ['chunked and a length', `${CHUNKED}Content-Length: 4\r\n`, {}],
    ['an empty one before chunked', `Transfer-Encoding:\r\n${CHUNKED}`, {}],
  ] as const) {
    it(`POST /mcp with Transfer-Encoding ${what}: 400, closed, and the rest is not taken as a request`, async () => {
      const { statuses, closed, rest } = await send(post(fields, inChunks(PING) + get('/api/v1/things'), options), {
        responses: 2,
      });
      expect([statuses, closed, rest]).to.deep.equal([[400], true, '']);
    });
  }

  for (const [what, fields, body, options] of [
    ['chunked', CHUNKED, inChunks(PING), {}],
    ['CHUNKED', 'Transfer-Encoding: CHUNKED\r\n', inChunks(PING), {}],
    ['a length', `Content-Length: ${PING.length}\r\n`, PING, {}],
    ['a length in HTTP/1.0', `Content-Length: ${PING.length}\r\n`, PING, { version: '1.0' }],
  ] as const) {
    it(`POST /mcp with ${what}: 200`, async () => {
      expect((await send(post(fields, body, options))).statuses).to.deep.equal([200]);
    });
  }
});
