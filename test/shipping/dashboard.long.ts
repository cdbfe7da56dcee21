import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { findTool } from '../support/binaries.js';
import { request } from '../support/http-client.js';
import { type Server, startServer } from '../support/server-process.js';
import { redisForTests, uniqueName } from '../support/services.js';
import { at, type Parsed, read } from '../support/shipped-files.js';
import { skip } from '../support/skip.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const JOB = 'metro-forecast-api';
/** Prometheus scrapes once per second, so this interval contains several scrapes. */
const RATE_INTERVAL = '5s';
const GIVE_UP_MS = 30_000;

describe('the dashboard with a real Prometheus and a live service', function () {
  this.timeout(60_000);
  let service: TestApp;
  let prometheus: Server;
  let traffic: NodeJS.Timeout;

  const dashboard: Parsed = JSON.parse(read('config/deploy/observability/grafana-dashboard.json'));
  const queries: readonly { title: string; expr: string }[] = dashboard.panels.flatMap(
    ({ title, targets = [] }: Parsed) => targets.map(({ expr }: Parsed) => ({ title, expr })),
  );

  before(async function () {
    this.timeout(300_000);
    const program = await findTool('prometheus').catch((error: Error) => skip(this, error.message));
    const redis = { url: (await redisForTests()).url, keyPrefix: `${uniqueName('dashboard')}:` };
    service = await startTestApp({ config: { metrics: { port: 0 }, redis } });
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [at('config/deploy/observability/alerts.yaml')],
      scrape_configs: [{ job_name: JOB, static_configs: [{ targets: [new URL(service.metricsUrl!).host] }] }],
    };
    prometheus = await startServer({
      name: 'prometheus',
      program,
      args(port, folder) {
        const file = join(folder, 'prometheus.json');
        writeFileSync(file, JSON.stringify(config));
        const data = join(folder, 'data');
        return [`--config.file=${file}`, `--storage.tsdb.path=${data}`, `--web.listen-address=127.0.0.1:${port}`];
      },
      url: (port) => `http://127.0.0.1:${port}`,
      async ready(port) {
        expect((await request(`http://127.0.0.1:${port}/-/ready`)).status).to.equal(200);
      },
    });
    const headers = { authorization: `Bearer ${service.key}` };
    traffic = setInterval(() => {
      for (const path of ['/markets', '/markets', '/markets/26420', '/markets/99999', '/movers?limit=x']) {
        void request(`${service.url}${path}`, { headers }).catch(() => undefined);
      }
    }, 100);
  });
  after(async () => {
    clearInterval(traffic);
    await prometheus?.stop();
    await service?.close();
  });

  const get = async (path: string): Promise<Parsed> => {
    const { status, json } = await request(`${prometheus.url}/api/v1/${path}`);
    expect(status, JSON.stringify(json)).to.equal(200);
    return (json as Parsed).data;
  };

  /** Omits NaN, which Prometheus returns for a quantile of no observations. */
  const valuesOf = async (expr: string): Promise<readonly number[]> => {
    const written = expr.replaceAll('$job', JOB).replaceAll('$__rate_interval', RATE_INTERVAL);
    const { result } = await get(`query?query=${encodeURIComponent(written)}`);
    return result.map(({ value }: Parsed) => Number(value[1])).filter((value: number) => !Number.isNaN(value));
  };

  it('has panels, and a variable for the job', async () => {
    expect(queries).to.have.length.of.at.least(20);
    const deadline = performance.now() + GIVE_UP_MS;
    let jobs: string[] = [];
    while (!jobs.includes(JOB) && performance.now() < deadline) {
      await delay(250);
      jobs = await get(`label/job/values?match[]=part_up`);
    }
    expect(jobs).to.deep.equal([JOB]);
  });

  for (const { title, expr } of queries) {
    it(`${title}: ${expr}`, async () => {
      const deadline = performance.now() + GIVE_UP_MS;
      let values = await valuesOf(expr);
      while (values.length === 0 && performance.now() < deadline) {
        await delay(500);
        values = await valuesOf(expr);
      }
      expect(values).to.have.length.of.at.least(1);
    });
  }

  it('shows requests by route and status, and a rate above 0', async () => {
    const rate = `sum(rate(http_request_duration_seconds_count{job="${JOB}"}[${RATE_INTERVAL}]))`;
    expect((await valuesOf(rate))[0]).to.be.within(10, 60);
    const { result } = await get(
      `query?query=${encodeURIComponent(`count by (route, status) (http_request_duration_seconds_count{job="${JOB}"})`)}`,
    );
    const shown = result.map(({ metric }: Parsed) => `${metric.status} ${metric.route}`);
    expect(shown).to.include.members([
      '200 /api/v1/markets',
      '200 /api/v1/markets/{cbsa}',
      '404 /api/v1/markets/{cbsa}',
      '400 /api/v1/movers',
    ]);
  });

  it('every alert can be evaluated, and none fires for a healthy service', async () => {
    const { groups } = await get('rules');
    const rules: Parsed[] = groups.flatMap((group: Parsed) => group.rules);
    const names = [...read('config/deploy/observability/alerts.yaml').matchAll(/- alert: (\w+)/g)].map(
      ([, name]) => name,
    );
    expect(rules.map(({ name }) => name)).to.have.members(names);
    // The test dataset is old, so the alerts for late and stale sources fire.
    const ofOldData = {
      SnapshotOld: ['pending'],
      SourceLate: ['pending', 'inactive'],
      SourceStale: ['pending', 'inactive'],
    };
    for (const { name, health, lastError, state } of rules) {
      expect({ name, health, lastError }).to.deep.equal({ name, health: 'ok', lastError: undefined });
      expect(state, name).to.be.oneOf(ofOldData[name as keyof typeof ofOldData] ?? ['inactive']);
    }
    expect(readFileSync(join(prometheus.folder, 'stderr'), 'utf8')).not.to.contain('level=error');
  });
});
