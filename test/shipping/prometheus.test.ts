import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { findTool } from '../support/binaries.js';
import { request } from '../support/http-client.js';
import { at, type Parsed, read } from '../support/shipped-files.js';
import { skip } from '../support/skip.js';
import { startTestApp } from '../support/test-app.js';

const JOB = 'metro-forecast-api';
const OF_ONE = 'job="metro-forecast-api",instance="a"';

/** Test input for one alert, with one value per minute. Values are abnormal from minute 10 to minute 90. */
interface Scenario {
  /** Values by series, in the notation of `promtool test rules`. */
  readonly series: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

const during = (quiet: string, failure: string, after: string) => `${quiet}x9 ${failure}x80 ${after}x40`;
const rising = (each: number) => `0x9 0+${each}x80 ${each * 80}x40`;
const count = (name: string, labels: string, values: string) => ({ [`${name}{${OF_ONE},${labels}}`]: values });
const perJob = { job: JOB };
const perInstance = { job: JOB, instance: 'a' };

const ofSource = (ages: string) => ({
  ...count('source_age_seconds', 'source="hpi"', ages),
  ...count('source_late_after_seconds', 'source="hpi"', `${100 * 86_400}x140`),
  ...count('source_stale_after_seconds', 'source="hpi"', `${200 * 86_400}x140`),
});

const scenarios: Readonly<Record<string, Scenario>> = {
  ServiceDown: { series: { [`up{${OF_ONE}}`]: during('1', '0', '1') }, labels: perInstance },
  ServiceAbsent: { series: { [`up{${OF_ONE}}`]: during('1', '_', '1') }, labels: perJob },
  ServerErrors: { series: count('http_server_errors_total', 'status="500"', rising(1)), labels: perJob },
  // Overload protection rejects all requests, so no request reaches a route.
  RequestsTurnedAway: {
    series: {
      ...count('http_server_errors_total', 'status="503"', '0x140'),
      ...count('overload_refused_requests_total', 'overload="in_flight"', rising(600)),
      ...count('http_request_duration_seconds_count', 'route="none",status="404"', '0x140'),
    },
    labels: perJob,
  },
  SlowAnswers: {
    series: {
      ...count(
        'http_request_duration_seconds_bucket',
        'route="r",status="200",le="0.25"',
        '0+600x9 5400x80 5400+600x40',
      ),
      ...count('http_request_duration_seconds_bucket', 'route="r",status="200",le="0.5"', '0+600x140'),
      ...count('http_request_duration_seconds_bucket', 'route="r",status="200",le="+Inf"', '0+600x140'),
    },
    labels: perJob,
  },
  PartAway: {
    series: count('part_up', 'part="limiter"', during('1', '0', '1')),
    labels: { ...perInstance, part: 'limiter' },
  },
  SnapshotOld: {
    series: { [`snapshot_age_seconds{${OF_ONE}}`]: during('86400', `${46 * 86_400}`, '60') },
    labels: perJob,
  },
  // A source is late after 100 days and stale after 200 days.
  SourceLate: { series: ofSource(during('86400', `${150 * 86_400}`, '60')), labels: { ...perJob, source: 'hpi' } },
  SourceStale: { series: ofSource(during('86400', `${250 * 86_400}`, '60')), labels: { ...perJob, source: 'hpi' } },
  SnapshotsDiffer: {
    series: {
      ...count('snapshot_info', 'version="1"', '1x140'),
      [`snapshot_info{job="${JOB}",instance="b",version="1"}`]: during('1', '_', '1'),
      [`snapshot_info{job="${JOB}",instance="b",version="2"}`]: during('_', '1', '_'),
    },
    labels: perJob,
  },
  EventLoopBlocked: {
    series: count('nodejs_eventloop_delay_seconds', 'quantile="0.99"', during('0.002', '0.3', '0.002')),
    labels: perInstance,
  },
  InvalidKeysFlood: { series: count('authentications_total', 'result="invalid"', rising(1200)), labels: perJob },
  ConnectionsRefused: {
    series: count('http_edge_refusals_total', 'reason="too_many_connections"', rising(120)),
    labels: { ...perJob, reason: 'too_many_connections' },
  },
  ReloadFailed: { series: count('config_reloads_total', 'result="failure"', rising(1)), labels: perInstance },
  LogLinesDropped: { series: { [`log_lines_dropped_total{${OF_ONE}}`]: rising(60) }, labels: perInstance },
  StoreSlow: {
    series: {
      ...count('store_call_duration_seconds_bucket', 'store="redis",le="0.1"', '0+600x9 5400x80 5400+600x40'),
      ...count('store_call_duration_seconds_bucket', 'store="redis",le="0.25"', '0+600x140'),
      ...count('store_call_duration_seconds_bucket', 'store="redis",le="+Inf"', '0+600x140'),
    },
    labels: { ...perJob, store: 'redis' },
  },
  FilesRunOut: {
    series: { [`process_open_fds{${OF_ONE}}`]: during('50', '120', '50'), [`process_max_fds{${OF_ONE}}`]: '128x140' },
    labels: perInstance,
  },
  VersionsDiffer: {
    series: {
      ...count('build_info', 'version="1.0.0"', '1x140'),
      [`build_info{job="${JOB}",instance="b",version="1.0.0"}`]: during('1', '_', '1'),
      [`build_info{job="${JOB}",instance="b",version="1.1.0"}`]: during('_', '1', '_'),
    },
    labels: perJob,
  },
};

describe('config/deploy/observability with promtool', function () {
  this.timeout(60_000);
  const { groups }: Parsed = load(read('config/deploy/observability/alerts.yaml'));
  const rules: Parsed[] = groups.flatMap((group: Parsed) => group.rules);
  let promtool: string;
  let folder: string;
  before(async function () {
    this.timeout(300_000);
    promtool = await findTool('promtool', 'prometheus').catch((error: Error) => skip(this, error.message));
    folder = await mkdtemp(join(tmpdir(), 'promtool-'));
  });
  after(() => folder && rm(folder, { recursive: true }));

  const check = (args: readonly string[]) =>
    promisify(execFile)(promtool, args).catch((error: Error & { stdout: string; stderr: string }) => {
      throw new Error(`${error.stdout}${error.stderr}`);
    });

  it('the rules and the scrape configuration are valid', async () => {
    await check(['check', 'rules', at('config/deploy/observability/alerts.yaml')]);
    await check(['check', 'config', at('config/deploy/observability/prometheus.yaml')]);
    const { scrape_configs }: Parsed = load(read('config/deploy/observability/prometheus.yaml'));
    expect(scrape_configs.map(({ job_name }: Parsed) => job_name)).to.deep.equal([JOB]);
  });

  it('every alert is inactive before its failure, fires during it, and resolves after it', async () => {
    expect(Object.keys(scenarios)).to.have.members(rules.map(({ alert }) => alert));
    const tests = rules.map(({ alert, labels, annotations }) => {
      const { series, labels: more } = scenarios[alert]!;
      const expand = (text: string) => text.replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, name) => more[name] ?? '');
      const firing = {
        exp_labels: { ...labels, ...more },
        exp_annotations: Object.fromEntries(
          Object.entries<string>(annotations).map(([name, text]) => [name, expand(text)]),
        ),
      };
      const at = (eval_time: string, exp_alerts: object[]) => ({ alertname: alert, eval_time, exp_alerts });
      return {
        interval: '1m',
        input_series: Object.entries({ ...series }).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [at('9m', []), at('88m', [firing]), at('125m', [])],
      };
    });
    const path = join(folder, 'tests.yaml');
    const all = { rule_files: [at('config/deploy/observability/alerts.yaml')], evaluation_interval: '1m', tests };
    await writeFile(path, JSON.stringify(all));
    await check(['test', 'rules', path]);
  });

  it('a stale source does not fire the alert for late sources', async () => {
    const path = join(folder, 'stale.yaml');
    const { series } = scenarios['SourceStale']!;
    const test = {
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      alert_rule_test: [{ alertname: 'SourceLate', eval_time: '88m', exp_alerts: [] }],
    };
    const all = {
      rule_files: [at('config/deploy/observability/alerts.yaml')],
      evaluation_interval: '1m',
      tests: [test],
    };
    await writeFile(path, JSON.stringify(all));
    await check(['test', 'rules', path]);
  });

  it('the metrics of a new service pass promtool, and contain every series that an alert sums', async () => {
    const service = await startTestApp({ config: { metrics: { port: 0 }, server: { overload: null } } });
    try {
      const { text } = await request(service.metricsUrl!);
      const lint = spawn(promtool, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
      let output = '';
      lint.stdout.on('data', (part) => (output += part));
      lint.stderr.on('data', (part) => (output += part));
      lint.stdin.end(text);
      const [code] = await once(lint, 'close');
      expect([output, code]).to.deep.equal(['', 0]);
      for (const series of [
        'http_server_errors_total{status="500"} 0',
        'http_server_errors_total{status="503"} 0',
        'overload_refused_requests_total{overload="in_flight"} 0',
        'http_request_duration_seconds_count{route="none",status="404"} 0',
        'authentications_total{result="invalid"} 0',
        'http_edge_refusals_total{reason="too_many_connections"} 0',
      ]) {
        expect(text).to.contain(`\n${series}\n`);
      }
    } finally {
      await service.close();
    }
  });
});
