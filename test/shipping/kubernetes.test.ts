import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { load, loadAll } from 'js-yaml';
import { createApp, loadConfig } from '../../product.js';
import { request } from '../support/http-client.js';
import { needPythonPackage } from '../support/python-package.js';
import { ADDRESSES, at, CLOSING_MS, type Parsed, read } from '../support/shipped-files.js';
import { skip } from '../support/skip.js';

const FOLDER = 'config/deploy/kubernetes';
const run = promisify(execFile);

class Built {
  constructor(
    readonly text: string,
    readonly manifests: readonly Parsed[] = loadAll(text) as Parsed[],
  ) {}
  one(kind: string): Parsed {
    return this.manifests.find((each) => each.kind === kind);
  }
  get pod(): Parsed {
    return this.one('Deployment').spec.template.spec;
  }
  get importPod(): Parsed {
    return this.one('CronJob').spec.jobTemplate.spec.template.spec;
  }
}

const pathOf = (overlay: string): string => at(`${FOLDER}/${overlay}/config.json`);

describe('config/deploy/kubernetes', () => {
  const built: Record<string, Built> = {};
  before(async function () {
    for (const overlay of ['small', 'large', 'monitoring']) {
      const { stdout } = await run('kubectl', ['kustomize', at(`${FOLDER}/${overlay}`)]).catch((error: Error) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        return skip(this, 'there is no kubectl');
      });
      built[overlay] = new Built(stdout);
    }
  });

  it('uses every file of the folder', async () => {
    for (const folder of ['base', 'small', 'large', 'monitoring']) {
      const kustomization: Parsed = load(read(`${FOLDER}/${folder}/kustomization.yaml`));
      const { resources, configMapGenerator = [], patches = [] } = kustomization;
      const used = [
        'kustomization.yaml',
        ...resources.filter((name: string) => !name.startsWith('..')),
        ...configMapGenerator.flatMap(({ files }: Parsed) => files),
        ...patches.map(({ path }: Parsed) => path),
      ];
      expect(await readdir(at(`${FOLDER}/${folder}`)), folder).to.have.members(used);
    }
  });

  it('monitoring has the rules of config/deploy/observability, and scrapes under the job name of those rules', () => {
    const { groups }: Parsed = load(read('config/deploy/observability/alerts.yaml'));
    expect(built['monitoring']!.one('PrometheusRule').spec.groups).to.deep.equal(groups);
    const [endpoint] = built['monitoring']!.one('PodMonitor').spec.podMetricsEndpoints;
    expect(endpoint.relabelings).to.deep.equal([{ targetLabel: 'job', replacement: 'metro-forecast-api' }]);
    const ports = built['large']!.pod.containers[0].ports.map(({ name }: Parsed) => name);
    expect(ports).to.include(endpoint.port);
  });

  it('the large overlay differs from config/replicas.json only in sockets, drain and replicas', () => {
    const { $schema, server, metrics, limits, ...shared } = JSON.parse(read(`${FOLDER}/large/config.json`));
    const { $schema: _, server: expected, limits: few, ...replicas } = JSON.parse(read('config/replicas.json'));
    expect(shared).to.deep.equal(replicas);
    expect([server.trustProxy, Object.keys(limits)]).to.deep.equal([expected.trustProxy, Object.keys(few)]);
    expect([metrics.host, server.host]).to.deep.equal(['0.0.0.0', '0.0.0.0']);
  });

  it('the large overlay runs at most the replicas that share the limits, and at least the minimum of its disruption budget', () => {
    const { minReplicas, maxReplicas, scaleTargetRef } = built['large']!.one('HorizontalPodAutoscaler').spec;
    expect(maxReplicas).to.equal(JSON.parse(read(`${FOLDER}/large/config.json`)).limits.replicas);
    expect(minReplicas).to.be.above(built['large']!.one('PodDisruptionBudget').spec.maxUnavailable);
    const deployment = built['large']!.one('Deployment');
    expect(scaleTargetRef).to.include({ kind: 'Deployment', name: deployment.metadata.name });
    expect(deployment.spec, 'the autoscaler sets it').to.not.have.property('replicas');
  });

  it('the large overlay takes the addresses from a Secret outside the repository, including those for imports', () => {
    for (const { containers } of [built['large']!.pod, built['large']!.importPod]) {
      const env = new Map<string, Parsed>(containers[0].env.map((each: Parsed) => [each.name, each]));
      for (const name of Object.keys(ADDRESSES)) {
        expect(env.get(name).value).to.equal(undefined);
        expect(env.get(name).valueFrom.secretKeyRef).to.deep.equal({ name: 'metro-forecast', key: name });
      }
    }
    expect(built['large']!.one('Secret')).to.equal(undefined);
  });

  it('the small overlay keeps data and keys on a volume that its only replica and its imports share', async () => {
    const { config } = await loadConfig({ path: pathOf('small'), env: {} });
    const { pod, importPod } = built['small']!;
    const claim = built['small']!.one('PersistentVolumeClaim').metadata.name;
    for (const { containers, volumes } of [pod, importPod]) {
      const { mountPath, name } = containers[0].volumeMounts.find((mount: Parsed) => mount.name === 'data');
      for (const path of [config.adapter.options, config.auth.keys.options].map((options: Parsed) => options.path))
        expect(path.startsWith(`${mountPath}/`)).to.equal(true);
      const volume = volumes.find((each: Parsed) => each.name === name);
      expect(volume.persistentVolumeClaim.claimName).to.equal(claim);
    }
    const { replicas, strategy } = built['small']!.one('Deployment').spec;
    expect([replicas, strategy]).to.deep.equal([1, { type: 'Recreate' }]);
    expect(config.limits.replicas).to.equal(1);
  });

  it('imports write next to the served dataset, and publish it atomically', async () => {
    const [container] = built['small']!.importPod.containers;
    const script: string = container.args[0];
    const commands = [...script.matchAll(/\$run (\w+) .*?(\/data\/\w+)/g)].map(([, name, path]) => [name, path]);
    expect(commands).to.deep.equal(['import', 'forecast', 'publish'].map((name) => [name, '/data/work']));
    const { config } = await loadConfig({ path: pathOf('small'), env: {} });
    expect((config.adapter.options as Parsed).path).to.not.equal('/data/work');
    for (const [, name] of script.matchAll(/\$(\w+_URL)/g))
      expect(container.env.map((each: Parsed) => each.name)).to.include(name);
  });

  for (const overlay of ['small', 'large']) {
    describe(overlay, () => {
      it('is valid against the strict Kubernetes schemas', async function () {
        this.timeout(300_000);
        const python = await needPythonPackage(this, 'kubernetes-validate');
        const folder = await mkdtemp(join(tmpdir(), 'kubernetes-'));
        await writeFile(join(folder, 'all.yaml'), built[overlay]!.text);
        await python(['-m', 'kubernetes_validate', '--strict', join(folder, 'all.yaml')]);
        await rm(folder, { recursive: true });
      });

      it('mounts the generated configuration, under a name that changes with its content', () => {
        const configMap = built[overlay]!.one('ConfigMap');
        expect(configMap.data).to.deep.equal({ 'config.json': read(`${FOLDER}/${overlay}/config.json`) });
        for (const { containers, volumes } of [built[overlay]!.pod, built[overlay]!.importPod]) {
          const volume = volumes.find(({ name }: Parsed) => name === 'config');
          expect(volume.configMap.name)
            .to.equal(configMap.metadata.name)
            .and.match(/-[a-z0-9]{10}$/);
          const { mountPath } = containers[0].volumeMounts.find(({ name }: Parsed) => name === 'config');
          const { value } = containers[0].env.find(({ name }: Parsed) => name === 'METRO_CONFIG');
          expect(value).to.equal(join(mountPath, 'config.json'));
        }
      });

      it('agrees with the configuration on ports, paths and the duration of a drain', async () => {
        const { config } = await loadConfig({ path: pathOf(overlay), env: ADDRESSES });
        const { server, metrics } = config;
        const { spec } = built[overlay]!.one('Deployment');
        const [container] = built[overlay]!.pod.containers;
        const port = (name: string): number => container.ports.find((each: Parsed) => each.name === name).containerPort;
        expect([port('http'), port('metrics')]).to.deep.equal([server.port, metrics?.port]);
        expect(spec.template.metadata.annotations).to.deep.equal({
          'prometheus.io/scrape': 'true',
          'prometheus.io/port': `${metrics?.port}`,
          'prometheus.io/path': '/metrics',
        });
        expect(container.readinessProbe.httpGet).to.deep.equal({ path: `${server.basePath}/ready`, port: 'http' });
        const needed = server.drainDelayMs + server.drainMs + CLOSING_MS;
        expect(built[overlay]!.pod.terminationGracePeriodSeconds * 1000).to.be.at.least(needed);
        const { periodSeconds, failureThreshold } = container.readinessProbe;
        expect(server.drainDelayMs).to.be.at.least(periodSeconds * failureThreshold * 1000);
      });

      it('runs the image of this version with a numeric user id, a read-only root and no capabilities', () => {
        const { version } = JSON.parse(read('package.json'));
        for (const { containers, securityContext } of [built[overlay]!.pod, built[overlay]!.importPod]) {
          const [container] = containers;
          expect(container.image).to.equal(`metro-forecast-api:${version}`);
          expect(securityContext).to.deep.include({ runAsNonRoot: true, runAsUser: 1000 });
          expect(securityContext.seccompProfile).to.deep.equal({ type: 'RuntimeDefault' });
          expect(container.securityContext).to.deep.equal({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          for (const bound of ['requests', 'limits']) expect(container.resources[bound]).to.have.keys('cpu', 'memory');
        }
      });

      it('selects the replicas, and no import, in the Service, disruption budget, network policy and topology spread', () => {
        const all = built[overlay]!;
        const { labels } = all.one('Deployment').spec.template.metadata;
        const selectors = [
          all.one('Deployment').spec.selector.matchLabels,
          all.one('Service').spec.selector,
          all.one('PodDisruptionBudget').spec.selector.matchLabels,
          all.one('NetworkPolicy').spec.podSelector.matchLabels,
          ...all.pod.topologySpreadConstraints.map((each: Parsed) => each.labelSelector.matchLabels),
        ];
        for (const selector of selectors) expect(selector).to.deep.equal(labels);
        expect(all.one('CronJob').spec.jobTemplate.spec.template.metadata.labels).to.not.deep.equal(labels);
        const names = all.pod.containers[0].ports.map(({ name }: Parsed) => name);
        const allowed = all.one('NetworkPolicy').spec.ingress.flatMap((rule: Parsed) => rule.ports);
        expect(allowed.map((each: Parsed) => each.port)).to.have.members(names);
        const [outgoing] = all.one('NetworkPolicy').spec.egress;
        expect(outgoing.ports.map(({ port }: Parsed) => port)).to.deep.equal([53, 53]);
        const [{ host, http }] = all.one('Ingress').spec.rules;
        expect(all.one('Ingress').spec.tls[0].hosts).to.deep.equal([host]);
        expect(http.paths[0].backend.service).to.deep.equal({
          name: all.one('Service').metadata.name,
          port: { name: all.one('Service').spec.ports[0].name },
        });
        expect(all.one('Service').spec.ports.map((each: Parsed) => each.targetPort)).to.deep.equal(['http']);
      });
    });
  }

  it('starts and stays alive without MongoDB and Redis, but is not ready', async () => {
    const env = {
      ...ADDRESSES,
      HOST: '127.0.0.1',
      PORT: '0',
      METRO__METRICS__HOST: '127.0.0.1',
      METRO__METRICS__PORT: '0',
      METRO__LOG__LEVEL: 'silent',
      METRO__SERVER__DRAINMS: '100',
    };
    const app = await createApp(await loadConfig({ path: pathOf('large'), env }));
    try {
      const { url, port: listening, metricsUrl } = await app.listen();
      const { startupProbe, readinessProbe, livenessProbe } = built['large']!.pod.containers[0];
      expect(startupProbe.tcpSocket.port).to.equal('http');
      await new Promise<void>((resolve, reject) => {
        const socket = connect(listening, '127.0.0.1', () => resolve(void socket.destroy())).on('error', reject);
      });
      const ready = await request(new URL(readinessProbe.httpGet.path, url).href);
      const alive = await request(new URL(livenessProbe.httpGet.path, metricsUrl!).href);
      expect([ready.status, livenessProbe.httpGet.port, alive.status]).to.deep.equal([503, 'metrics', 200]);
    } finally {
      await app.close();
    }
  });
});
