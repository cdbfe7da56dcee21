import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { collectGarbage } from '../../../adapters/conformance/collect-garbage.js';
import { dataRoute, definePlugin } from '../../../core/contracts/plugin.js';
import { packageRoot, packageVersion } from '../../../core/util/package.js';
import { markets } from '../../../plugins/metro/collections.js';
import { request } from '../../support/http-client.js';
import { exchange } from '../../support/raw-http.js';
import { mongoForTests, redisForTests, uniqueName } from '../../support/services.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const read = (name: string): string => readFileSync(join(packageRoot, 'config/deploy/observability', name), 'utf8');

describe('metrics', () => {
  let service: TestApp;
  let metricsUrl: string;
  before(async () => {
    service = await startTestApp({ config: { metrics: { port: 0 } } });
    metricsUrl = service.metricsUrl!;
  });
  after(() => service.close());

  const scrape = async (): Promise<ReadonlyMap<string, number>> => {
    const { text, headers, status } = await request(metricsUrl);
    expect([status, headers['content-type']]).to.deep.equal([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      series.map((line) => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
    );
  };
  const rise = async (during: () => Promise<unknown>) => {
    const before = await scrape();
    await during();
    const after = await scrape();
    return (series: string): number => (after.get(series) ?? Number.NaN) - (before.get(series) ?? 0);
  };

  it('count requests by route pattern and status, never by address', async () => {
    const by = await rise(async () => {
      for (const cbsa of ['12060', '26420', '99999']) await service.get(`/markets/${cbsa}`);
      await service.get('/nowhere/12345');
    });
    expect(by('http_request_duration_seconds_count{route="/api/v1/markets/{cbsa}",status="200"}')).to.equal(2);
    expect(by('http_request_duration_seconds_count{route="/api/v1/markets/{cbsa}",status="404"}')).to.equal(1);
    expect(by('http_request_duration_seconds_count{route="none",status="404"}')).to.equal(1);
    expect(by('http_request_duration_seconds_bucket{route="none",status="404",le="+Inf"}')).to.equal(1);
    expect([...(await scrape()).keys()].join()).to.not.contain('12345');
  });

  it('count cached responses, decisions of the limiter, and kinds of credentials', async () => {
    const { key } = await service.newKey({ limit_per_minute: 1 });
    const by = await rise(async () => {
      await service.get('/signals');
      await service.get('/signals');
      await service.get('/signals', { headers: { Authorization: 'Bearer nonsense' } });
      await request(`${service.url}/signals`);
      for (let i = 0; i < 2; i++) await service.get('/signals', { headers: { Authorization: `Bearer ${key}` } });
    });
    expect(by('response_cache_requests_total{result="miss"}')).to.equal(1);
    expect(by('response_cache_requests_total{result="hit"}')).to.equal(2);
    expect(by('limiter_decisions_total{decision="refused",tier="enterprise"}')).to.equal(1);
    expect(by('limiter_decisions_total{decision="allowed",tier="enterprise"}')).to.equal(3);
    expect(by('limiter_decisions_total{decision="allowed",tier="none"}')).to.equal(2);
    expect(by('authentications_total{result="valid"}')).to.equal(4);
    expect(by('authentications_total{result="invalid"}')).to.equal(1);
    expect(by('authentications_total{result="none"}')).to.equal(1);
  });

  it('count responses whose reads took too long, apart from other errors with status 503', async () => {
    const name = 'slow';
    const plugin = definePlugin({
      name,
      version: '1.0.0',
      description: 'Reads for too long.',
      routes: () => [
        dataRoute({
          path: '/slow',
          operationId: name,
          summary: name,
          response: { description: name, schema: { type: 'object' }, example: {} },
          handler: async (_input, { snapshot }) => {
            for (;;) await snapshot.find(markets);
          },
        }),
      ],
    });
    const slow = await startTestApp({
      config: { http: { answerMs: 100 }, metrics: { port: 0 } },
      overrides: { plugins: [{ plugin }] },
    });
    try {
      const { status, json } = await slow.get('/slow');
      expect([status, json.code]).to.deep.equal([503, 'service_unavailable']);
      expect(json.error).to.contain('Reading the data takes longer than 0.1 seconds.').and.contain('narrow it');
      const { text } = await request(slow.metricsUrl!);
      expect(text).to.contain('\nread_timeouts_total 1\n').and.contain('http_server_errors_total{status="503"} 1\n');
    } finally {
      await slow.close();
    }
  });

  it('count requests that never reach a route', async () => {
    const by = await rise(() => exchange(Number(new URL(service.url).port), 'nonsense\r\n\r\n'));
    expect(by('http_edge_refusals_total{reason="malformed"}')).to.equal(1);
  });

  it('contain the snapshot, its age, the parts and the process', async () => {
    const now = await scrape();
    expect(now.get('snapshot_info{version="fixture-1"}')).to.equal(1);
    expect(now.get('snapshot_age_seconds')).to.be.above(0);
    for (const part of ['storage', 'limiter', 'cache', 'keys']) expect(now.get(`part_up{part="${part}"}`)).to.equal(1);
    expect(now.get('http_requests_in_flight')).to.equal(0);
    expect(now.get('response_cache_bytes')).to.be.above(0);
    expect(now.get('process_resident_memory_bytes')).to.be.above(2 ** 20);
    expect(now.get(`build_info{version="${packageVersion}",node="${process.versions.node}"}`)).to.equal(1);
    expect(now.get('config_reloads_total{result="success"}')).to.equal(0);
    expect(now.get('config_last_reload_success_timestamp_seconds')).to.be.within(1, Date.now() / 1000);
    expect(now.get('nodejs_eventloop_utilization_ratio')).to.be.within(0, 1);
    expect(now.get('process_max_fds')).to.be.above(now.get('process_open_fds')!);
    expect(now.get('process_start_time_seconds')).to.be.within(Date.now() / 1000 - 3600, Date.now() / 1000);
  });

  it('contain the age of each source, and when it is late and stale, as in /status', async () => {
    const now = await scrape();
    const { sources } = (await service.get('/status')).json;
    expect(sources).to.not.have.length(0);
    for (const { id, age_seconds, late_after_seconds, stale_after_seconds } of sources) {
      // The ages in `/status` are slightly larger, because the test requests `/status` after the metrics.
      const age = now.get(`source_age_seconds{source="${id}"}`);
      if (age_seconds === null) expect(age).to.equal(undefined);
      else expect(age).to.be.within(age_seconds - 30, age_seconds);
      expect(now.get(`source_late_after_seconds{source="${id}"}`)).to.equal(late_after_seconds);
      expect(now.get(`source_stale_after_seconds{source="${id}"}`)).to.equal(stale_after_seconds);
    }
  });

  it('count garbage collections, calls to Redis and reads from MongoDB', async () => {
    expect((await rise(async () => collectGarbage()))('nodejs_gc_duration_seconds_count{kind="major"}')).to.be.at.least(
      1,
    );
    const options = { uri: (await mongoForTests()).url, database: uniqueName('metrics') };
    const stores = await startTestApp({
      config: {
        adapter: { use: 'mongo', options },
        metrics: { port: 0 },
        redis: { url: (await redisForTests()).url, keyPrefix: `${uniqueName('metrics')}:` },
      },
    });
    try {
      await stores.get('/status');
      await stores.get('/markets');
      const { text } = await request(stores.metricsUrl!);
      for (const store of ['redis', 'mongo']) {
        expect(text).to.match(new RegExp(`^store_call_duration_seconds_count\\{store="${store}"\\} [1-9]`, 'm'));
      }
    } finally {
      await stores.close();
    }
  }).timeout(60_000);

  it('are served on a separate port: the API has no metrics, and that port has no API', async () => {
    expect((await request(`${service.origin}/metrics`)).status).to.equal(404);
    expect((await request(metricsUrl.replace('/metrics', '/api/v1/markets'))).status).to.equal(404);
    expect((await request(metricsUrl, { method: 'POST' })).status).to.equal(405);
  });

  it('metrics: null opens no port and counts nothing', async () => {
    const plain = await startTestApp();
    expect(plain.metricsUrl).to.equal(null);
    await plain.close();
  });

  describe('in config/deploy/observability', () => {
    /** Metrics that Prometheus adds itself. */
    const OWN = new Set(['up']);
    const FUNCTIONS =
      /\b(?:absent|unless|time|increase|sum|max|min|count|rate|histogram_quantile|by|without|label_values)\b/g;
    const namesIn = (expression: string): string[] => {
      const bare = expression
        .replace(/\[[^\]]*\]/g, '')
        .replace(/\{[^}]*\}/g, '')
        .replace(/\bby \([^)]*\)/g, '')
        .replace(/label_values\((\w+), \w+\)/g, '$1')
        .replace(FUNCTIONS, '');
      return (bare.match(/[a-zA-Z_:][\w:]*/g) ?? []).filter((name) => !OWN.has(name));
    };
    const alerts = [...read('alerts.yaml').matchAll(/^ +expr: (?:\|\n((?: {10,}.*\n)+)|(.+)\n)/gm)].map(
      ([, block, line]) => block ?? line ?? '',
    );
    const dashboard = JSON.parse(read('grafana-dashboard.json'));
    const panels: string[] = [
      ...dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list
        .map(({ query }: { query: string }) => query)
        .filter((query: string) => query.includes('(')),
    ];
    let served: Set<string>;
    before(async () => {
      const typed = (await request(metricsUrl)).text.matchAll(/^# TYPE (\w+) (\w+)$/gm);
      served = new Set(
        [...typed].flatMap(([, name, type]) =>
          type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name!],
        ),
      );
    });

    it('every alert has an expression', () => {
      expect(alerts.length).to.equal(read('alerts.yaml').match(/- alert:/g)?.length);
    });

    for (const [what, expressions] of [
      ['alerts.yaml', alerts],
      ['grafana-dashboard.json', panels],
    ] as const) {
      it(`${what} names only metrics that are served`, () => {
        const named = new Set(expressions.flatMap(namesIn));
        expect(named.size).to.be.above(5);
        expect([...named].filter((name) => !served.has(name))).to.deep.equal([]);
      });
    }
  });
});
