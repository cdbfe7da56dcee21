import { assert } from 'chai';
import { MongoClient } from 'mongodb';
import { partOf } from '../../core/app/create-app.js';
import type { Clock } from '../../core/contracts/runtime.js';
import { openDirectory } from '../../core/data/directory.js';
import { createKey } from '../../core/keys/key.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { request, type TestRequest, type TestResponse } from '../support/http-client.js';
import { mongoForTests, uniqueName } from '../support/services.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

type Entry = readonly [target: string, request?: TestRequest];

const CODES = ['12060', '19820', '26420', '46060', '99999', '00000', '1206', '120600', 'abcde', '%31%32060', '%zz'];
const LIMITS = ['1', '2', '5', '50', '0', '51', '-1', '1.5', 'x', '', '05', '1e1'];
const SINCES = ['2025-09-01', '2025-09-02', '2099-01-01', '0001-01-01', '2025-02-30', '2025-9-1', 'x', ''];
const SERIES = ['UNRATE', 'metro_hpi', 'EMPTY', 'unrate', 'NOPE', '', 'a%20b', '%F0%9F%8F%A0'];
const LISTS = ['/markets', '/movers', '/forecast-backtest', '/forecasts', '/forecast-runs', '/series', '/signals'];
const OTHERS = ['/status', '/health', '/ready', '/openapi.json'];

/**
 * All values of `as_of` are invalid. With a valid date, the responses would differ, because adapters keep different
 * earlier versions.
 */
const FORMS = ['format=csv', 'format=json', 'format=xml', 'format=', 'as_of=2025-02-30', 'as_of=x', 'as_of='];

const SELECTIONS = [
  ...['state=TX', 'state=TX,GA', 'state=tx', 'state=', 'signal=hold', 'signal=hold,expand', 'signal=hodl'],
  ...['risk_score=A', 'risk_score=A,C', 'risk_score=E', 'sort=name', 'sort=-forecast_12m', 'sort=forcast_12m', 'sort='],
  'state=TX,GA&signal=hold&sort=-name',
];
const SPANS = [
  'since=2025-04-01',
  'until=2025-10-01',
  'since=2025-04-01&until=2025-09-30',
  'since=2026-01-02&until=2026-01-01',
];

const entries: readonly Entry[] = [
  ...LISTS,
  ...[...LISTS, '/markets/12060', '/markets/12060/history', '/forecasts/12060/history', '/status'].flatMap((target) =>
    FORMS.map((form) => `${target}?${form}`),
  ),
  ...FORMS.map((form) => `/observations?series_id=metro_hpi&${form}`),
  ...OTHERS,
  ...CODES.flatMap((code) => [
    `/markets/${code}`,
    `/markets/${code}/history`,
    `/markets/${code}/forecast-track`,
    `/markets/${code}/drivers`,
    `/markets/${code}/quantiles`,
    `/forecasts/${code}/history`,
  ]),
  ...LIMITS.map((limit) => `/movers?limit=${limit}`),
  ...SERIES.flatMap((id) => [
    `/observations?series_id=${id}`,
    `/observations?series_id=${id}&since=2025-09-01`,
    ...CODES.map((code) => `/observations?series_id=${id}&cbsa=${code}`),
    `/observations?series_id=${id}&cbsa=12060&since=2025-04-01`,
  ]),
  ...SINCES.map((since) => `/observations?series_id=UNRATE&since=${since}`),
  ...SINCES.map((since) => `/observations?series_id=metro_hpi&since=${since}`),
  ...['/areas', '/forecast-history', '/forecast-track'],
  ...CODES.map((code) => `/areas/${code}`),
  '/areas/35620',
  '/markets/35620',
  ...['year', 'quarter', 'grade', 'signal', 'state', 'size', 'planet', ''].flatMap((by) => [
    `/forecast-backtest/breakdown?by=${by}`,
    `/forecast-backtest/breakdown?by=${by}&format=csv`,
  ]),
  '/forecast-backtest/breakdown',
  ...['/markets', '/forecasts', '/signals', '/movers'].flatMap((list) =>
    SELECTIONS.flatMap((selection) => [`${list}?${selection}`, `${list}?${selection}&format=csv`]),
  ),
  ...['/markets/12060/history', '/forecasts/12060/history', '/markets/12060/forecast-track']
    .concat('/forecast-history', '/forecast-track')
    .flatMap((list) => SPANS.map((span) => `${list}?${span}`)),
  ...SPANS.map((span) => `/observations?series_id=metro_hpi&${span}`),
  ...['limit=1', 'limit=1&format=ndjson', 'fields=name,cbsa&format=csv', 'fields=nam', 'limit=0', 'after=x'].flatMap(
    (page) => ['/markets', '/forecasts', '/signals', '/movers'].map((list) => `${list}?${page}`),
  ),
  ...['level', 'change', 'log', 'yoy', 'real', 'pct'].flatMap((units) => [
    `/observations?series_id=metro_hpi,UNRATE&cbsa=12060,26420&units=${units}`,
    `/observations?series_id=UNRATE&units=${units}&format=csv`,
  ]),
  '/markets/12060/history?fields=value,standard_error&format=csv',
  '/markets/12060/history?fields=error',
  '/vintages',
  '/vintages?limit=1',
  '/observations',
  '/observations?since=2025-09-01',
  '/observations?series_id=UNRATE&series_id=metro_hpi',
  '/observations?series_id=UNRATE&sinc=2025-09-01',
  '/movers?limit=1&limit=2',
  '/movers?limt=1',
  '/markets?x=1',
  '/markets?%zz=1',
  '/status?x=1',
  '/nowhere',
  '/',
  '/markets/',
  '/Markets',
  '/%zz',
  `/${'x'.repeat(9000)}`,
]
  .map((target): Entry => [target])
  .concat(
    [...LISTS, ...OTHERS, '/markets/12060', '/markets/99999', '/nowhere'].flatMap((target): Entry[] => [
      [target, { method: 'HEAD' }],
      [target, { method: 'OPTIONS' }],
      [target, { method: 'POST' }],
      [target, { headers: { Authorization: '' } }],
      [target, { headers: { Authorization: 'Bearer nonsense' } }],
      [target, { headers: { Accept: 'text/html' } }],
      [target, { headers: { Accept: 'text/csv' } }],
      [target, { headers: { 'Accept-Encoding': 'gzip' } }],
      [target, { headers: { 'Accept-Encoding': 'br' } }],
      [target, { headers: { 'If-None-Match': '*' } }],
      [target, { headers: { 'If-Modified-Since': 'Mon, 02 Mar 2026 12:00:00 GMT' } }],
      [target, { headers: { 'If-Modified-Since': 'Mon, 02 Mar 2026 11:59:59 GMT' } }],
      [target, { headers: { Origin: 'https://example.com' } }],
      [target, { headers: { 'Content-Length': '2' }, body: '{}' }],
      [target, { headers: { 'X-Long': 'x'.repeat(40_000) } }],
    ]),
  );

const VARYING = new Set(['date', 'x-request-id']);

const visible = ({ status, headers, bytes }: TestResponse) => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !VARYING.has(name))),
  body: bytes.toString('base64'),
});

describe('the same requests to memory, json, sqlite and mongo', () => {
  const services = new Map<string, TestApp>();
  const closers: (() => Promise<unknown>)[] = [];
  const { key, hash, id } = createKey();
  const limited = createKey();
  // The clocks are stopped, so that ages and remaining permits are equal.
  const time = Date.parse('2026-03-03T00:00:00Z');
  const clock: Clock = { now: () => time, monotonic: () => 0 };

  before(async () => {
    const start = async (name: string, adapter: object) => {
      const keyStore = new MemoryKeyStore();
      const created_at = '2026-01-01T00:00:00Z';
      const times = { created_at, expires_at: null, revoked_at: null };
      const record = { name: 'test', tier: 'enterprise', ...times };
      await keyStore.insert({ ...record, id, hash, limit_per_minute: 100_000 });
      await keyStore.insert({ ...record, id: limited.id, hash: limited.hash, limit_per_minute: 1 });
      const service = await startTestApp({ config: { adapter }, overrides: { keyStore, clock } });
      closers.push(() => service.close());
      services.set(name, service);
      return service;
    };
    await start('memory', { use: 'memory', options: { path: 'dataset' } });
    await start('json', { use: 'json', options: { path: 'dataset' } });
    const { url: uri } = await mongoForTests();
    const database = uniqueName('same-answers');
    const overMongo = await start('mongo', { use: 'mongo', options: { uri, database, pollMs: 20 } });
    closers.push(async () => {
      const client = new MongoClient(uri);
      await client.db(database).dropDatabase();
      await client.close();
    });
    const overSqlite = await start('sqlite', { use: 'sqlite', options: { path: 'data.db', pollMs: 20 } });
    for (const service of [overMongo, overSqlite]) {
      const { dataset } = await openDirectory(service.directory);
      await partOf(service.app, 'adapter').publish!(dataset);
      for (let tries = 0; (await service.get('/health')).status !== 200; tries++) assert.isBelow(tries, 500);
    }
  });

  after(async () => {
    for (const close of closers) await close();
  });

  const ask = async (target: string, { headers = {}, ...rest }: TestRequest = {}) => {
    const what = `${rest.method ?? 'GET'} ${target.slice(0, 80)} ${JSON.stringify(headers).slice(0, 80)}`;
    const all = { Authorization: `Bearer ${key}`, ...headers };
    let expected: ReturnType<typeof visible> | undefined;
    for (const [name, { url }] of services) {
      const answer = visible(await request(`${url}${target}`, { ...rest, headers: all }));
      expected ??= answer;
      assert.deepEqual(answer, expected, `${name}: ${what}`);
    }
    assert.notEqual(expected?.status, 500, what);
    return expected?.status as number;
  };

  it(`${entries.length} requests of every endpoint, parameter and error: equal status, headers and bytes`, async function () {
    this.timeout(120_000);
    const seen = new Set<number>();
    for (const [target, options] of entries) seen.add(await ask(target, options));
    for (let count = 0; count < 2; count++) {
      seen.add(await ask('/markets', { headers: { Authorization: `Bearer ${limited.key}` } }));
    }
    for (const { app } of services.values()) app.drain();
    seen.add(await ask('/health'));
    assert.sameMembers([...seen], [200, 204, 304, 400, 401, 404, 405, 406, 414, 429, 431, 503]);
  });

  it('the requests cover every endpoint', async () => {
    const { json } = await services.get('memory')!.get('/openapi.json');
    for (const path of Object.keys(json.paths)) {
      const pattern = new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}(\\?|$)`);
      assert.isTrue(
        entries.some(([target]) => pattern.test(target)),
        path,
      );
    }
  });
});
