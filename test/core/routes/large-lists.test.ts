import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { parquetReadObjects } from 'hyparquet';
import { partOf } from '../../../core/app/create-app.js';
import type { Manifest } from '../../../core/contracts/dataset.js';
import { collection, dataRoute, definePlugin, type StreamedList } from '../../../core/contracts/plugin.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { until } from '../../support/until.js';

const ROW = {
  type: 'object',
  required: ['id', 'text'],
  additionalProperties: false,
  properties: { id: { type: 'integer' }, text: { type: 'string' } },
} as const;
const things = collection({ name: 'things', key: ['id'], schema: ROW });
const ROWS = 20_000;
const rows = Array.from({ length: ROWS }, (_, id) => ({ id, text: `row ${id} ${'x'.repeat(100)}` }));

const seen = { calls: 0, batches: 0, ended: 0 };

async function* watched(batches: AsyncIterable<readonly object[]>, end?: () => Promise<void>) {
  try {
    for await (const batch of batches) {
      seen.batches++;
      yield batch;
      if (seen.batches === 150) await end?.();
    }
  } finally {
    seen.ended++;
  }
}

async function* repeated(read: () => AsyncIterable<readonly object[]>) {
  for (let i = 0; i < 10; i++) yield* read();
}

/** Rows that the handler creates, instead of reading them from the snapshot. */
async function* created() {
  for (let batch = 0; batch < 5000; batch++) yield rows.slice(0, 100).map((row) => ({ ...row }));
}

const list = (path: string, end?: () => Promise<void>) =>
  dataRoute({
    path,
    operationId: `list${path.slice(1)}`,
    summary: 'Things',
    vintages: true,
    response: {
      description: 'Things.',
      schema: { type: 'object', required: ['data'], properties: { data: { type: 'array', items: ROW } } },
      example: { data: [] },
    },
    async handler(_input, { snapshot }) {
      seen.calls++;
      const read = () => snapshot.stream(things, path === '/few' ? { limit: 10 } : {});
      const batches = { '/created': created, '/long': () => repeated(read) }[path] ?? read;
      const data: StreamedList['data'] = watched(batches(), end);
      return { data } as never;
    },
  });

const plugin = definePlugin({
  name: 'things',
  version: '1.0.0',
  description: 'Large lists: one fails, and one stalls.',
  collections: [things],
  routes: () => [
    list('/things'),
    list('/long'),
    list('/few'),
    list('/created'),
    list('/failing', async () => {
      throw new Error('the store is gone');
    }),
    list('/stalling', () => delay(60_000, undefined, { ref: false })),
  ],
});

const manifest = {
  ...{ format: 1, version: 'v1', created: '2026-01-01T00:00:00Z', vintage: '2025-12-31' },
  ...{ synthetic: true, sources: [] },
} as Manifest;

describe('a list larger than 1 MB', function () {
  this.timeout(20_000);
  let service: TestApp;
  let logger: KeptLogger;
  const start = (http = {}, server = {}) => {
    logger = keptLogger();
    return startTestApp({
      manifest,
      collections: { things: rows },
      config: { plugins: [], server, http: { responseCheck: 'off', cacheBytes: 1_000_000, answerMs: 10_000, ...http } },
      overrides: { plugins: [{ plugin }], logger },
    });
  };
  const warnings = () => logger.lines.filter((line) => line.startsWith('warn'));
  beforeEach(async () => {
    Object.assign(seen, { calls: 0, batches: 0, ended: 0 });
    service = await start();
  });
  afterEach(() => service.close());

  const open = async (path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> => {
    const options = { headers: { Authorization: `Bearer ${service.key}`, ...headers }, agent: false };
    const [response] = (await once(httpGet(`${service.url}${path}`, options), 'response')) as [IncomingMessage];
    expect(response.statusCode).to.be.oneOf([200, 304]);
    return response;
  };
  const bodyOf = async (response: IncomingMessage): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  };

  it('is chunked, complete, and the same in every format and encoding', async () => {
    const plain = await open('/things');
    expect([plain.headers['transfer-encoding'], plain.headers['content-length']]).to.deep.equal(['chunked', undefined]);
    const text = await bodyOf(plain);
    expect(text.equals(Buffer.from(JSON.stringify({ data: rows })))).to.equal(true);
    const lines = await bodyOf(await open('/things?format=ndjson'));
    expect(lines.equals(Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join('')))).to.equal(true);
    const csv = String(await bodyOf(await open('/things?format=csv'))).split('\r\n');
    expect([csv.length, csv[1], csv.at(-2)]).to.deep.equal([
      ROWS + 2,
      Object.values(rows[0]!).join(),
      Object.values(rows.at(-1)!).join(),
    ]);
    for (const [encoding, decompress] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const response = await open('/things', { 'Accept-Encoding': encoding });
      expect(response.headers['content-encoding']).to.equal(encoding);
      expect(response.headers.etag).to.equal(plain.headers.etag!.replace(/"$/, `-${encoding}"`));
      expect(decompress(await bodyOf(response)).equals(text)).to.equal(true);
    }
    const parquet = await bodyOf(await open('/things?format=parquet'));
    const bytes = parquet.buffer.slice(parquet.byteOffset, parquet.byteOffset + parquet.length) as ArrayBuffer;
    const found = await parquetReadObjects({ file: bytes });
    expect([found.length, Number(found.at(-1)!['id'])]).to.deep.equal([ROWS, ROWS - 1]);
  });

  it('has an ETag for a 304, and the same headers for HEAD, without reading rows', async () => {
    const first = await open('/things');
    await bodyOf(first);
    const { etag } = first.headers;
    const before = seen.batches;
    const again = await open('/things', { 'If-None-Match': etag! });
    expect([again.statusCode, again.headers.etag, again.headers['snapshot-version']]).to.deep.equal([304, etag, 'v1']);
    const head = await service.get('/things', { method: 'HEAD' });
    for (const name of ['etag', 'content-type', 'snapshot-version', 'last-modified', 'vary', 'cache-control']) {
      expect(head.headers[name], name).to.equal(first.headers[name]);
    }
    expect([head.status, seen.batches - before]).to.deep.equal([200, 0]);

    // A restarted service has no cached response and knows only the ETag in the request.
    const other = await start();
    try {
      const { status } = await other.get('/things', { headers: { 'If-None-Match': etag! } });
      expect([status, seen.batches - before]).to.deep.equal([304, 0]);
    } finally {
      await other.close();
    }
  });

  it('calls the handler once per request, as does a small list', async () => {
    const callsFor = async (path: string, options: Parameters<TestApp['get']>[1] = {}): Promise<number> => {
      const before = seen.calls;
      await service.get(path, options);
      return seen.calls - before;
    };
    expect([await callsFor('/few'), await callsFor('/few')]).to.deep.equal([1, 0]);
    expect(await callsFor('/things')).to.equal(1);
    const { etag } = (await open('/things')).headers;
    expect(await callsFor('/things', { method: 'HEAD' })).to.equal(1);
    expect(await callsFor('/things', { headers: { 'If-None-Match': etag! } })).to.equal(1);
  });

  it('is sent to each of several concurrent requests', async () => {
    const responses = await Promise.all(Array.from({ length: 6 }, () => open('/things')));
    const bodies = await Promise.all(responses.map(bodyOf));
    expect(bodies.every((body) => body.equals(Buffer.from(JSON.stringify({ data: rows }))))).to.equal(true);
    expect(seen.calls).to.be.at.most(6);
  });

  it('has a different ETag in each format', async () => {
    const tags = [];
    for (const format of ['json', 'csv', 'ndjson', 'parquet']) {
      const response = await open(`/things?format=${format}`);
      await bodyOf(response);
      tags.push(response.headers.etag);
    }
    expect(new Set(tags).size).to.equal(4);
  });

  it('is cached only up to an eighth of the budget', async () => {
    await bodyOf(await open('/things'));
    expect((await service.get('/things')).headers['content-length']).to.equal(undefined);
    await service.close();
    service = await start({ cacheBytes: 64_000_000 });
    const [first, second] = [await open('/things'), await open('/things')];
    const bodies = [await bodyOf(first), await bodyOf(second)];
    const cached = await open('/things');
    bodies.push(await bodyOf(cached));
    expect(cached.headers['content-length']).to.equal(String(bodies[0]!.length));
    expect(cached.headers.etag).to.equal(first.headers.etag);
    expect(bodies.every((body) => body.equals(bodies[0]!))).to.equal(true);
  });

  for (const path of ['/failing', '/stalling']) {
    it(`of ${path} aborts the connection after an error, so that it never looks complete`, async () => {
      await service.close();
      service = await start({ answerMs: 500 });
      const response = await open(path);
      expect(response.statusCode).to.equal(200);
      const error = await bodyOf(response).then(
        () => undefined,
        (reason: NodeJS.ErrnoException) => reason.code,
      );
      expect(error).to.equal('ECONNRESET');
      expect(warnings()).to.deep.equal(['warn: a list could not be sent completely; closing the connection']);
      expect((await service.get('/things')).status).to.equal(200);
    });
  }

  it('releases everything when the client disconnects, without a warning', async () => {
    const before = seen.ended;
    for (let i = 0; i < 6; i++) {
      const response = await open('/long', { 'Accept-Encoding': i % 2 === 0 ? 'identity' : 'gzip' });
      await once(response, 'readable');
      response.destroy();
    }
    for (let tries = 0; seen.ended - before < 6 && tries < 200; tries++) await delay(10);
    expect(seen.ended - before).to.equal(6);
    expect(warnings()).to.deep.equal([]);
    // A caller can read two large lists at a time. A third list would wait forever if no slot was released.
    await Promise.all([1, 2, 3].map(async () => bodyOf(await open('/things'))));
  });

  it('of rows that the handler creates is read as the client reads it, and no further', async () => {
    const response = await open('/created');
    response.pause();
    await until(async () => {
      const { batches } = seen;
      await delay(200);
      return batches > 0 && batches === seen.batches;
    });
    expect(seen.batches).to.be.below(2500);
    response.destroy();
    await until(() => seen.ended === 1);
  });

  it('is sent in order to a client that pipelines ten requests', async () => {
    const { port, pathname } = new URL(service.url);
    const socket = connect(Number(port), '127.0.0.1');
    const request = `GET ${pathname}/things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n\r\n`;
    socket.write(request.repeat(10));
    let [text, count] = ['', 0];
    for await (const chunk of socket) {
      text += String(chunk);
      count += text.split('"}]}').length - 1;
      text = text.slice(-3);
      if (count === 10) break;
    }
    expect(count).to.equal(10);
  });

  it('waits for its turn if the caller is already reading two such lists; other callers and small requests do not wait', async () => {
    const held = [await open('/long'), await open('/long')];
    const third = open('/long');
    const state = await Promise.race([third.then(() => 'sent'), delay(300, 'waits')]);
    expect(state).to.equal('waits');
    expect((await service.get('/long', { method: 'HEAD' })).status).to.equal(200);
    const { key } = await service.newKey();
    const other = await open('/long', { Authorization: `Bearer ${key}` });
    expect((await bodyOf(other)).length).to.be.greaterThan(20_000_000);
    for (const response of held) response.destroy();
    expect((await bodyOf(await third)).length).to.be.greaterThan(20_000_000);
  });

  it('does not count as in flight while it waits for an earlier response on its connection', async () => {
    const limited = await start({}, { overload: { maxInFlight: 30 } });
    const { port, pathname } = new URL(limited.url);
    const socket = connect(Number(port), '127.0.0.1').pause();
    try {
      const { key } = await limited.newKey();
      const request = `GET ${pathname}/long HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
      const { lists } = partOf(limited.app, 'work');
      for (const sent of [15, 30, 45]) {
        socket.write(request.repeat(15));
        for (let tries = 0; lists.size + lists.rejected < sent && tries < 500; tries++) await delay(10);
      }
      // One list is being sent. The waiting requests fill half of `maxInFlight`, and the rest were rejected.
      expect([lists.size, lists.rejected]).to.deep.equal([16, 29]);
      expect((await limited.get('/things', { method: 'HEAD' })).status).to.equal(200);
    } finally {
      socket.destroy();
      await limited.close();
    }
  });
});
