import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { marketCodes, seriesIds, writeDataset } from '../../../bench/dataset.js';
import { partOf } from '../../../core/app/create-app.js';
import { metroAreas } from '../../../plugins/metro/areas.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const LIMIT = 600;

describe('fairness between callers, on a dataset of 410 metros and 204 quarters', function () {
  this.timeout(120_000);
  let folder: string;
  let service: TestApp;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairness-'));
    await writeDataset(join(folder, 'dataset'));
    service = await start();
    for (const path of CACHED) await service.get(path);
  });
  after(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  const start = (http: object = {}): Promise<TestApp> =>
    startTestApp({
      config: {
        adapter: { use: 'json', options: { path: join(folder, 'dataset') } },
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'status', 'mcp'],
        http: { responseCheck: 'off', ...http },
      },
    });

  const codes = marketCodes();
  const CACHED = ['/markets', `/markets/${codes[0]}`, `/markets/${codes[7]}/history`, '/series'];

  const toolCall = (id: number, args: object) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'list_observations', arguments: args },
    });

  const newCaller = async (limit = LIMIT) => (await service.newKey({ limit_per_minute: limit })).key;

  /** Requests a cached response every 10 ms until the promise settles. Returns the number of responses by status. */
  const cachedDuring = async (attack: Promise<unknown>) => {
    const statuses: Record<number, number> = {};
    let isRunning = true;
    const ended = attack.finally(() => {
      isRunning = false;
    });
    const own = (async () => {
      for (let i = 0; isRunning; i++) {
        const { status } = await service.get(CACHED[i % CACHED.length]!);
        statuses[status] = (statuses[status] ?? 0) + 1;
        await delay(10);
      }
    })();
    await ended;
    await own;
    return statuses;
  };

  const pipelined = async (key: string, targets: readonly string[]): Promise<readonly string[]> => {
    const { port, pathname } = new URL(service.url);
    const socket = connect(Number(port), '127.0.0.1');
    const head = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
    const last = targets.length - 1;
    socket.write(
      targets.map((to, i) => `GET ${pathname}${to} ${head}${i === last ? 'Connection: close\r\n' : ''}\r\n`).join(''),
    );
    const statuses: string[] = [];
    let rest = '';
    for await (const chunk of socket) {
      const text = rest + (chunk as Buffer).toString('latin1');
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) statuses.push(status!);
      rest = text.slice(-11);
    }
    return statuses;
  };

  const LISTS = Array.from({ length: 10 }, (_, year) =>
    ['json', 'csv', 'parquet', 'ndjson'].map(
      (format) => `/observations?series_id=metro_hpi&format=${format}&since=${2000 + year}-02-01`,
    ),
  ).flat();

  it('three bursts of 40 pipelined lists succeed, and another caller gets no 503', async () => {
    const key = await newCaller();
    const bursts = Promise.all(
      [0, 1, 2].map(async (i) => {
        await delay(i * 300);
        return pipelined(
          key,
          LISTS.map((target) => `${target.slice(0, -2)}${10 + i}`),
        );
      }),
    );
    const own = await cachedDuring(bursts);
    expect(Object.keys(own)).to.deep.equal(['200']);
    for (const statuses of await bursts) expect(statuses).to.deep.equal(new Array(40).fill('200'));
  });

  it('240 concurrent requests from one caller succeed', async () => {
    const key = await newCaller();
    const targets = Array.from(
      { length: 200 },
      (_, i) => `/observations?series_id=metro_hpi&cbsa=${codes[i]}&units=log`,
    );
    const bursts = Promise.all([pipelined(key, targets), pipelined(key, LISTS)]);
    expect(Object.keys(await cachedDuring(bursts))).to.deep.equal(['200']);
    const [small, large] = await bursts;
    expect([small.length, large.length]).to.deep.equal([200, 40]);
    expect([...new Set([...small, ...large])]).to.deep.equal(['200']);
  });

  it('the first compression of a cached list waits for its turn', async () => {
    const lists = LISTS.filter((target) => target.includes('=json')).map((target) => `${target.slice(0, -2)}20`);
    for (const target of lists) await service.get(target);
    const work = partOf(service.app, 'work').responses;
    const key = await newCaller();
    for (const encoding of ['gzip', 'br']) {
      const get = (target: string) =>
        service.get(target, { headers: { Authorization: `Bearer ${key}`, 'Accept-Encoding': encoding } });
      let waiting = 0;
      const compressed = Promise.all(lists.map(get));
      const count = setInterval(() => {
        waiting = Math.max(waiting, work.size);
      }, 1);
      const encodings = (await compressed).map(({ headers }) => headers['content-encoding']);
      expect(encodings).to.deep.equal(new Array(10).fill(encoding));
      clearInterval(count);
      expect(waiting).to.be.above(2);
      // The compressed body is already cached, so this response does not have to wait.
      expect((await get(lists[0]!)).headers['content-encoding']).to.equal(encoding);
    }
  });

  for (const [what, requestOf] of [
    ['lists', (i: number) => ({ target: `/observations?series_id=metro_hpi&since=${1976 + i}-05-07` })],
    [
      'MCP tools',
      (i: number) => ({
        target: '/mcp',
        body: toolCall(i, { series_id: 'metro_hpi', since: `${1976 + i}-05-07`, units: 'log' }),
      }),
    ],
  ] as const) {
    it(`${what} of disconnected clients are not computed`, async () => {
      // The test counts cache entries, so the cache must be large enough for all responses.
      const crowded = await start({ cacheBytes: 2 ** 30 });
      try {
        const work = partOf(crowded.app, 'work').responses;
        const snapshots = partOf(crowded.app, 'snapshots');
        const { key, url } = crowded;
        const { port, pathname } = new URL(url);
        const sockets = Array.from({ length: 30 }, () =>
          connect(Number(port), '127.0.0.1').on('error', () => undefined),
        );
        // All requests must arrive at the same time, but Node accepts only one connection per turn of the event loop.
        for (const socket of sockets) {
          socket.write(`GET ${pathname}/health HTTP/1.1\r\nHost: a\r\n\r\n`);
          await once(socket, 'data');
        }
        for (const [i, socket] of sockets.entries()) {
          const { target, body = '' } = requestOf(i) as { target: string; body?: string };
          const [method, path] = body ? ['POST', target] : ['GET', pathname + target];
          const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
          const json = `Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n`;
          socket.write(`${head}${body && json}\r\n${body}`);
        }
        while (work.size < 20) await delay(1);
        const responses = () => snapshots.served!.responses.size;
        const before = responses();
        for (const socket of sockets) socket.destroy();
        while (work.size > 0) await delay(1);
        await delay(50);
        // Two requests are running when the connections close. Two more can start before the service notices that they
        // are closed.
        expect(responses() - before).to.be.at.most(4);
        expect(work.size).to.equal(0);
      } finally {
        await crowded.close();
      }
    });
  }

  const EXPENSIVE: readonly ((i: number) => string)[] = [
    (i) => `/observations?units=log&series_id=metro_hpi,${seriesIds().join()}&since=${1976 + (i % 40)}-04-01`,
    (i) => `/signals?state=${STATES.filter((_, j) => (i >> (j % 5)) % 2 === 0).join()}&sort=-name`,
    (i) => `/observations?series_id=metro_hpi&format=${['csv', 'parquet'][i % 2]}&until=${1990 + (i % 30)}-10-01`,
    (i) => `/forecast-track?until=${1990 + (i % 30)}-${10 + (i % 3)}-01`,
  ];
  const STATES = [...new Set([...metroAreas.values()].flatMap(({ states }) => states))];

  it('five callers at 600 requests per minute with expensive requests cause no 503 for a sixth caller', async () => {
    const mcp = async (key: string, i: number) => {
      const { status } = await request(`${service.origin}/mcp`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
        },
        body: toolCall(i, { series_id: 'metro_hpi', since: `19${76 + i}-04-01` }),
      });
      return status;
    };
    const attack = async (send: (key: string, i: number) => Promise<number>) => {
      const key = await newCaller();
      return Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          await delay(i * 100);
          return send(key, i);
        }),
      );
    };
    const get = (target: (i: number) => string) => async (key: string, i: number) =>
      (await service.get(target(i), { headers: { Authorization: `Bearer ${key}` } })).status;
    const attacks = Promise.all([...EXPENSIVE.map((target) => attack(get(target))), attack(mcp)]);
    expect(Object.keys(await cachedDuring(attacks))).to.deep.equal(['200']);
    for (const statuses of await attacks) {
      expect(statuses.length).to.equal(20);
      for (const status of statuses) expect(status).to.be.oneOf([200, 503]);
    }
  });
});
