/** The responses of one caller while others send the most expensive requests there are. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { marketCodes, seriesIds, writeDataset } from '../../../bench/dataset.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const LIMIT = 600;

describe('fairness between callers, on a dataset of 410 metros and 204 quarters', function () {
  this.timeout(120_000);
  let folder: string;
  let service: TestApp;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairness-'));
    await writeDataset(join(folder, 'dataset'), 1);
    service = await startTestApp({
      config: {
        adapter: { use: 'json', options: { path: join(folder, 'dataset') } },
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'status', 'mcp'],
        http: { responseCheck: 'off' },
      },
    });
    for (const path of CACHED) await service.get(path);
  });
  after(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  const codes = marketCodes(1);
  const CACHED = ['/markets', `/markets/${codes[0]}`, `/markets/${codes[7]}/history`, '/series'];

  const newCaller = async (limit = LIMIT) => (await service.newKey({ limit_per_minute: limit })).key;

  /** Sends cached requests every 10 ms until the promise settles. @returns how many responses had each status */
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

  /** Pipelines requests on one connection. @returns the statuses of the responses, once all have arrived */
  const pipelined = async (key: string, targets: readonly string[]): Promise<readonly string[]> => {
    const { port, pathname } = new URL(service.url);
    const socket = connect(Number(port), '127.0.0.1');
    const head = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
    const last = targets.length - 1;
    socket.write(
      targets.map((to, i) => `GET ${pathname}${to} ${head}${i === last ? 'Connection: close\r\n' : ''}\r\n`).join(''),
    );
    const statuses: string[] = [];
    // A status line may be cut in two.
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

  it('three bursts of 40 pipelined lists are answered, and cost another caller no 503', async () => {
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

  it('240 requests at once of one caller are answered', async () => {
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

  /** The most expensive requests, each with a body of its own. */
  const EXPENSIVE: readonly ((i: number) => string)[] = [
    (i) => `/observations?units=log&series_id=metro_hpi,${seriesIds().join()}&since=${1976 + (i % 40)}-04-01`,
    (i) => `/signals?state=${Array.from({ length: 2600 }, (_, j) => two(i * 31 + j)).join()}`,
    (i) => `/observations?series_id=metro_hpi&format=${['csv', 'parquet'][i % 2]}&until=${1990 + (i % 30)}-10-01`,
    (i) => `/forecast-track?until=${1990 + (i % 30)}-${10 + (i % 3)}-01`,
  ];
  const two = (i: number) => String.fromCharCode(65 + (i % 26), 65 + (Math.floor(i / 26) % 26));

  it('five callers at 600 a minute with expensive requests cost a sixth no 503', async () => {
    const mcp = async (key: string, i: number) => {
      const call = { name: 'list_observations', arguments: { series_id: 'metro_hpi', since: `19${76 + i}-04-01` } };
      const { status } = await request(`${service.origin}/mcp`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: i, method: 'tools/call', params: call }),
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
