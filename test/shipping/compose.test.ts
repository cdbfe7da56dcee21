import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { loadConfig } from '../../product.js';
import { needPythonPackage } from '../support/python-package.js';
import { at, CLOSING_MS, type Parsed, read } from '../support/shipped-files.js';

describe('compose.yaml', () => {
  const { services }: Parsed = load(read('compose.yaml'));
  const replicas: [name: string, service: Parsed][] = Object.entries<Parsed>(services).filter(([, { build }]) => build);

  it('is valid against the Compose schema', async function () {
    this.timeout(300_000);
    const python = await needPythonPackage(this, 'check-jsonschema');
    await python(['-m', 'check_jsonschema', '--builtin-schema', 'vendor.compose-spec', at('compose.yaml')]);
  });

  it('runs as many replicas as its configuration lists, with a stop timeout longer than a drain', async () => {
    expect(replicas).to.not.be.empty;
    for (const [name, { environment, stop_grace_period }] of replicas) {
      const path = at(environment.METRO_CONFIG.replace('/app/', ''));
      const { config } = await loadConfig({ path, env: { ...environment, METRO_CONFIG: '' } });
      const { host, drainDelayMs, drainMs } = config.server;
      expect(config.limits.replicas, name).to.equal(replicas.length);
      expect(host, name).to.equal('0.0.0.0');
      expect(Number.parseInt(stop_grace_period, 10) * 1000).to.be.at.least(drainDelayMs + drainMs + CLOSING_MS);
    }
  });

  it('limits the size of the log of every container', () => {
    for (const [name, { logging }] of Object.entries<Parsed>(services)) {
      expect(logging?.options, name).to.deep.equal({ 'max-size': '20m', 'max-file': '5' });
    }
  });

  it('gives replicas a read-only root and no capabilities, and the addresses of its own services', () => {
    for (const [, replica] of replicas) {
      expect(replica).to.deep.include({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect(services).to.include.keys(replica.depends_on);
      for (const address of [replica.environment.MONGODB_URI, replica.environment.REDIS_URL])
        expect(services).to.include.keys(new URL(address).hostname);
    }
  });

  it('configures nginx with an existing file and every replica, on loopback ports only', () => {
    const [source] = services.nginx.volumes[0].split(':');
    const upstreams = [...read(source).matchAll(/^\s+server ([\w-]+):8080 .*?( backup)?;$/gm)];
    const named = (isBackup: boolean) =>
      upstreams.filter(([, , backup]) => (backup !== undefined) === isBackup).map(([, name]) => name);
    for (const isBackup of [false, true]) expect(named(isBackup)).to.have.members(replicas.map(([name]) => name));
    for (const { ports = [] } of Object.values<Parsed>(services))
      for (const port of ports) expect(port).to.match(/^127\.0\.0\.1:/);
  });

  it('configures Prometheus to scrape every replica and load the alerts, and Grafana to load its dashboard', () => {
    const { scrape_configs, rule_files }: Parsed = load(read('config/deploy/observability/prometheus.yaml'));
    const names = replicas.map(([name]) => `${name}:9464`);
    expect(scrape_configs[0].static_configs[0].targets).to.have.members(names);
    const mounted = (service: Parsed): [from: string, to: string][] =>
      service.volumes.map((volume: string) => volume.split(':')).filter(([from]: string[]) => from!.startsWith('./'));
    for (const [from] of [...mounted(services.prometheus), ...mounted(services.grafana)])
      expect(existsSync(at(from)), from).to.equal(true);
    const targets = mounted(services.prometheus).map(([, to]) => to);
    expect(targets).to.include.members(rule_files.map((name: string) => `/etc/prometheus/${name}`));
    const { providers }: Parsed = load(read('config/deploy/observability/grafana/dashboards/files.yaml'));
    const dashboards = mounted(services.grafana).map(([, to]) => to);
    expect(dashboards.some((to) => to.startsWith(`${providers[0].options.path}/`))).to.equal(true);
    const { datasources }: Parsed = load(read('config/deploy/observability/grafana/datasources/prometheus.yaml'));
    expect(services).to.include.keys(new URL(datasources[0].url).hostname);
  });

  it('pins the version of every image that it does not build', () => {
    for (const [name, { image, build }] of Object.entries<Parsed>(services))
      if (!build) expect(image, name).to.match(/:(?!latest)[\w.-]+$/);
  });
});
