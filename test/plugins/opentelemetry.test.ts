import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { definePlugin, serviceRoute } from '../../core/contracts/plugin.js';
import { packageRoot, packageVersion } from '../../core/util/package.js';
import { commandArgs } from '../support/command-process.js';
import * as fixture from '../support/fixture.js';
import { request } from '../support/http-client.js';
import { type KeptLogger, keptLogger } from '../support/kept-logger.js';
import { newKey } from '../support/key-record.js';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.js';
import { freePort } from '../support/server-process.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

const failing = definePlugin({
  name: 'failing',
  version: '1.0.0',
  description: 'Fails.',
  routes: () => [
    serviceRoute({
      path: '/failure',
      operationId: 'getFault',
      summary: 'Fails',
      response: { description: 'Never.', schema: { type: 'object' }, example: {} },
      handler: async () => {
        throw new Error('a failure');
      },
    }),
  ],
});

describe('the plugin opentelemetry', () => {
  let receiver: OtlpReceiver;
  let app: TestApp | undefined;

  beforeEach(async () => {
    receiver = await startOtlpReceiver();
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    await receiver.close();
  });

  const serve = async (options: object = {}, logger: KeptLogger = keptLogger()): Promise<TestApp> => {
    const opentelemetry = { use: 'opentelemetry', options: { url: receiver.url, ...options } };
    app = await startTestApp({
      config: { plugins: ['markets', 'forecasts', 'docs', opentelemetry] },
      overrides: { logger, plugins: [{ plugin: failing }] },
    });
    return app;
  };
  const spansOf = async (ended: TestApp): Promise<readonly ReceivedSpan[]> => {
    await ended.close();
    return receiver.spans;
  };

  it('creates one server span per request, with HTTP semantic conventions and the fields of the log', async () => {
    const served = await serve({ serviceName: 'prices' });
    const before = BigInt(Date.now() - 1) * 1_000_000n;
    const { headers } = await served.get('/markets?format=json');
    await served.get('/markets?format=json');
    const after = BigInt(Date.now() + 1) * 1_000_000n;
    const [span, again, ...others] = await spansOf(served);
    expect(others).to.deep.equal([]);
    const { hostname, port } = new URL(served.url);
    expect(span!.attributes).to.deep.equal({
      'http.request.method': 'GET',
      'http.route': '/api/v1/markets',
      'http.response.status_code': 200,
      'http.response.header.x-request-id': [headers['x-request-id']],
      'url.path': '/api/v1/markets',
      'url.scheme': 'http',
      'server.address': hostname,
      'server.port': Number(port),
      'network.protocol.version': '1.1',
      'metro_forecast.key.id': (await served.keys.list())[0]!.id,
      'metro_forecast.snapshot.version': fixture.manifest.version,
      'metro_forecast.cache.hit': false,
    });
    expect(again!.attributes['metro_forecast.cache.hit']).to.equal(true);
    const { name, kind, status, parentSpanId, start, end, resource } = span!;
    expect({ name, kind, status, parentSpanId }).to.deep.equal({
      name: 'GET /api/v1/markets',
      kind: 2,
      status: 0,
      parentSpanId: undefined,
    });
    expect(before <= start && start < end && end <= after).to.equal(true);
    expect(span!.traceId)
      .to.match(/^[0-9a-f]{32}$/)
      .and.to.not.equal(again!.traceId);
    expect(resource).to.include({ 'service.name': 'prices', 'service.version': packageVersion });
    expect(resource['service.instance.id']).to.be.a('string');
    expect(receiver.requests[0]!.target).to.equal('POST /v1/traces');
  });

  it("creates a child of the caller's span, and follows the caller's sampling decision", async () => {
    const served = await serve({ sampleRatio: 0 });
    await served.get('/markets', { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } });
    await served.get('/markets', { headers: { traceparent: `00-${TRACE}-${PARENT}-00` } });
    await served.get('/markets', { headers: { traceparent: `00-${TRACE}-${PARENT}` } });
    await served.get('/markets');
    const [span, ...others] = await spansOf(served);
    expect(others).to.deep.equal([]);
    expect(span).to.include({ traceId: TRACE, parentSpanId: PARENT });
    expect(span!.spanId)
      .to.match(/^[0-9a-f]{16}$/)
      .and.to.not.equal(PARENT);
  });

  it('records no trace that the caller does not sample, and the configured share of other requests', async () => {
    const served = await serve({ sampleRatio: 0.5 });
    const REQUESTS = 200;
    for (let i = 0; i < REQUESTS; i++) {
      await served.get('/markets');
      await served.get('/forecasts', { headers: { traceparent: `00-${TRACE}-${PARENT}-00` } });
    }
    const spans = await spansOf(served);
    // Both bounds are nine standard deviations from the mean.
    expect(spans.length).to.be.within(36, REQUESTS - 36);
    expect(new Set(spans.map(({ name }) => name))).to.deep.equal(new Set(['GET /api/v1/markets']));
  });

  for (const [target, method, status, name, failed] of [
    ['/api/v1/markets/99999', 'GET', 404, 'GET /api/v1/markets/{cbsa}', false],
    ['/api/v1/markets?format=xml', 'GET', 400, 'GET /api/v1/markets', false],
    ['/api/v1/markets', 'DELETE', 405, 'DELETE /api/v1/markets', false],
    ['/api/v1/markets', 'PROPFIND', 405, 'HTTP /api/v1/markets', false],
    ['/nowhere/at/all', 'GET', 404, 'GET', false],
    ['/docs', 'GET', 200, 'GET /docs', false],
    ['/api/v1/failure', 'GET', 500, 'GET /api/v1/failure', true],
  ] as const) {
    it(`${method} ${target}: "${name}", ${status}${failed ? ', an error' : ''}`, async () => {
      const served = await serve();
      await request(`${served.origin}${target}`, { method, headers: { Authorization: `Bearer ${served.key}` } });
      const [span] = await spansOf(served);
      expect(span).to.include({ name, status: failed ? 2 : 0 });
      const known = method !== 'PROPFIND';
      expect(span!.attributes).to.include({
        'http.response.status_code': status,
        'url.path': target.split('?')[0],
        'http.request.method': known ? method : '_OTHER',
        ...(known ? {} : { 'http.request.method_original': method }),
      });
      expect(span!.attributes['error.type']).to.equal(failed ? '500' : undefined);
      expect(span!.attributes['http.route']).to.equal(/ (.+)$/.exec(name)?.[1]);
    });
  }

  for (const [host, address, port] of [
    ['api.example', 'api.example', undefined],
    ['api.example:8443', 'api.example', 8443],
    ['[2001:db8::1]:80', '2001:db8::1', 80],
  ] as const) {
    it(`uses Host: ${host} as the server address`, async () => {
      const served = await serve();
      await served.get('/markets', { headers: { Host: host } });
      const { attributes } = (await spansOf(served))[0]!;
      expect([attributes['server.address'], attributes['server.port']]).to.deep.equal([address, port]);
    });
  }

  it('exports no key, valid or not, wherever the caller puts it, and no part of the query', async () => {
    const served = await serve();
    const keys = [served.key, newKey().key];
    for (const key of keys) {
      for (const target of [`/markets/${key}`, `/${key}`, `/movers?limit=${key}`, `/movers?key=${key}&limit=5`]) {
        await served.get(target);
        await served.get(target, { headers: { Authorization: `Bearer ${key}x` } });
      }
      for (const name of ['X-Request-Id', 'traceparent', 'tracestate', 'Cookie', 'User-Agent', 'Referer', 'Accept']) {
        await served.get('/markets', { headers: { [name]: key } });
      }
      await served.get('/markets', { headers: { Host: `${key}.example:80` } });
      await served.get('/markets', { headers: { Authorization: `Bearer ${key}` } });
    }
    expect(await spansOf(served)).to.have.length(34);
    const sent = receiver.requests.map(({ headers, body }) => JSON.stringify(headers) + body).join('\n');
    expect(sent).to.not.contain('limit');
    for (const key of keys) {
      for (const secret of [key.slice(0, 24), key.slice(-24)]) expect(sent).to.not.contain(secret);
    }
  });

  it('truncates long attribute values', async () => {
    const served = await serve();
    await served.get(`/${'x-'.repeat(2500)}`);
    const { attributes } = (await spansOf(served))[0]!;
    expect(attributes['url.path']).to.have.length(1024);
  });

  it('sends the headers of the options', async () => {
    const served = await serve({ headers: { Authorization: 'Basic b3BzOnNlY3JldA==' } });
    await served.get('/markets');
    await spansOf(served);
    expect(receiver.requests[0]!.headers).to.include({
      authorization: 'Basic b3BzOnNlY3JldA==',
      'content-type': 'application/json',
    });
  });

  it('without a receiver, serves requests, logs the problem once, and closes', async () => {
    const logger = keptLogger();
    const served = await serve({ url: `http://127.0.0.1:${await freePort()}/v1/traces`, maxQueuedSpans: 3 }, logger);
    for (let i = 0; i < 20; i++) expect((await served.get('/markets')).status).to.equal(200);
    await served.close();
    expect(logger.lines.filter((line) => line.startsWith('error'))).to.deep.equal([]);
    expect(logger.lines).to.include('warn: a request observer did not close cleanly');
  });

  it('with a receiver that hangs, serves requests, limits queued spans, and closes', async () => {
    const served = await serve({ maxQueuedSpans: 10 });
    receiver.answerWith(0);
    const exporting = receiver.next();
    for (let i = 0; i < 30; i++) expect((await served.get('/markets')).status).to.equal(200);
    await exporting;
    await served.close();
    // The hanging request has 10 spans, and the last request has the 10 queued spans. The other spans were dropped.
    const spans = receiver.requests.map(({ body }) => body.split('"spanId"').length - 1);
    expect(spans).to.deep.equal([10, 10]);
  });

  it('logs once that the receiver rejects spans, and once that it accepts them again', async () => {
    const logger = keptLogger();
    const served = await serve({ maxQueuedSpans: 1 }, logger);
    const send = async () => {
      const arrived = receiver.next();
      expect((await served.get('/markets')).status).to.equal(200);
      await arrived;
    };
    receiver.answerWith(400);
    await send();
    receiver.answerWith(200);
    await served.get('/markets');
    expect(await spansOf(served)).to.have.length(1);
    const lines = logger.lines.filter((line) => line.includes('span'));
    expect(lines).to.deep.equal([
      'warn: spans could not be delivered and were lost',
      'info: spans are delivered again',
    ]);
  });
});

describe('metro-forecast start with the plugin opentelemetry', () => {
  it('exports the last spans on SIGTERM, to OTEL_EXPORTER_OTLP_ENDPOINT', async function () {
    this.timeout(60_000);
    const receiver = await startOtlpReceiver();
    const child = spawn(process.execPath, commandArgs(['start']), {
      cwd: packageRoot,
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        METRO__LOG__LEVEL: 'silent',
        METRO__PLUGINS: '["markets", "opentelemetry"]',
        METRO__SERVER__DRAIN_DELAY_MS: '0',
        OTEL_EXPORTER_OTLP_ENDPOINT: new URL(receiver.url).origin,
        OTEL_SERVICE_NAME: 'from-the-environment',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    try {
      let output = '';
      for await (const chunk of child.stdout) {
        output += chunk;
        if (output.includes('curl')) break;
      }
      const url = /Listening on (\S+)/.exec(output)![1]!;
      for (let i = 0; i < 5; i++) await request(`${url}/markets`);
      expect(receiver.spans).to.deep.equal([]);
      child.kill('SIGTERM');
      expect(await exited).to.deep.equal([0, null]);
      expect(receiver.spans.map(({ attributes }) => attributes['http.response.status_code'])).to.deep.equal(
        Array(5).fill(401),
      );
      expect(receiver.spans[0]!.resource['service.name']).to.equal('from-the-environment');
    } finally {
      child.kill('SIGKILL');
      await receiver.close();
    }
  });
});
