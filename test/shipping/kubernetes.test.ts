/** The Kubernetes manifests are valid, and agree with the image, the configuration and how the service behaves. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { load, loadAll } from 'js-yaml';
import { createApp } from '../../app/create-app.js';
import { loadConfig } from '../../app/load-config.js';
import { request } from '../support/http-client.js';
import { needPythonPackage } from '../support/python-package.js';
import { ADDRESSES, at, CLOSING_MS, type Parsed, read } from '../support/shipped-files.js';
import { skip } from '../support/skip.js';

describe('config/kubernetes', () => {
  const folder = 'config/kubernetes';
  const { resources, configMapGenerator }: Parsed = load(read(`${folder}/kustomization.yaml`));
  const manifests: Parsed[] = resources.flatMap((name: string) => loadAll(read(`${folder}/${name}`)));
  const one = (kind: string): Parsed => manifests.find((each) => each.kind === kind);
  const deployment = one('Deployment').spec;
  const pod = deployment.template.spec;
  const [container] = pod.containers;
  const port = (name: string): number => container.ports.find((each: Parsed) => each.name === name).containerPort;
  const path = at(`${folder}/config.json`);

  it('is valid against the schemas of Kubernetes, without a field that they lack', async function () {
    this.timeout(300_000);
    const python = await needPythonPackage(this, 'kubernetes-validate');
    const paths = resources.map((name: string) => at(`${folder}/${name}`));
    await python(['-m', 'kubernetes_validate', '--strict', ...paths]);
  });

  it('builds with kustomize, and mounts the configuration that it makes', async function () {
    const built = await promisify(execFile)('kubectl', ['kustomize', at(folder)]).catch((error: Error) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return skip(this, 'there is no kubectl');
    });
    const made: Parsed[] = loadAll(built.stdout);
    const kinds = ['ConfigMap', ...manifests.map(({ kind }) => kind)];
    expect(made.map(({ kind }) => kind)).to.have.members(kinds);
    const configMap = made.find(({ kind }) => kind === 'ConfigMap');
    expect(configMap.data).to.deep.equal({ 'config.json': read(`${folder}/config.json`) });
    const { volumes } = made.find(({ kind }) => kind === 'Deployment').spec.template.spec;
    expect(volumes[0].configMap.name)
      .to.equal(configMap.metadata.name)
      .and.match(/-[a-z0-9]{10}$/);
  });

  it('lists every manifest of the folder', () => {
    const others = ['kustomization.yaml', ...configMapGenerator[0].files];
    expect(readdirSync(at(folder))).to.have.members([...resources, ...others]);
  });

  it('configures what config/replicas.json does, and only sockets and the drain besides', () => {
    const { $schema, server, metrics, ...shared } = JSON.parse(read(`${folder}/config.json`));
    const { $schema: _, server: expected, ...replicas } = JSON.parse(read('config/replicas.json'));
    expect(shared).to.deep.equal(replicas);
    expect(server).to.include(expected);
    expect([existsSync(at(join(folder, $schema))), metrics.host, server.host]).to.deep.equal([
      true,
      '0.0.0.0',
      '0.0.0.0',
    ]);
  });

  it('agrees with the configuration on ports, paths, replicas and the time that a drain takes', async () => {
    const { config } = await loadConfig({ path, env: ADDRESSES });
    const { server, metrics, limits } = config;
    expect([port('http'), port('metrics')]).to.deep.equal([server.port, metrics?.port]);
    expect(deployment.template.metadata.annotations).to.deep.equal({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': `${metrics?.port}`,
      'prometheus.io/path': '/metrics',
    });
    expect(deployment.replicas).to.equal(limits.replicas);
    expect(container.readinessProbe.httpGet).to.deep.equal({ path: `${server.basePath}/health`, port: 'http' });
    const needed = server.drainDelayMs + server.drainMs + CLOSING_MS;
    expect(pod.terminationGracePeriodSeconds * 1000).to.be.at.least(needed);
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(server.drainDelayMs).to.be.at.least(periodSeconds * failureThreshold * 1000);
  });

  it('takes its file from the mount, and the addresses from a Secret that is not in the repository', () => {
    const [mount] = container.volumeMounts;
    const [volume] = pod.volumes;
    expect([mount.name, volume.configMap.name]).to.deep.equal([volume.name, configMapGenerator[0].name]);
    const env = new Map<string, Parsed>(container.env.map((each: Parsed) => [each.name, each]));
    expect([...env.keys()]).to.have.members(['METRO_CONFIG', ...Object.keys(ADDRESSES)]);
    expect(env.get('METRO_CONFIG').value).to.equal(join(mount.mountPath, configMapGenerator[0].files[0]));
    for (const name of Object.keys(ADDRESSES)) {
      expect(env.get(name).value).to.equal(undefined);
      expect(env.get(name).valueFrom.secretKeyRef).to.deep.equal({ name: 'metro-forecast', key: name });
    }
    expect(one('Secret')).to.equal(undefined);
  });

  it("runs this version's image as a user by number, with a root that it cannot write to and no capability", () => {
    const { version } = JSON.parse(read('package.json'));
    expect(container.image).to.equal(`metro-forecast-api:${version}`);
    expect(pod.securityContext).to.deep.include({ runAsNonRoot: true, runAsUser: 1000 });
    expect(pod.securityContext.seccompProfile).to.deep.equal({ type: 'RuntimeDefault' });
    expect(container.securityContext).to.deep.equal({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    for (const bound of ['requests', 'limits']) expect(container.resources[bound]).to.have.keys('cpu', 'memory');
  });

  it('has the Service, the budget, the policy and the spread select the replicas', () => {
    const { labels } = deployment.template.metadata;
    const selectors = [
      deployment.selector.matchLabels,
      one('Service').spec.selector,
      one('PodDisruptionBudget').spec.selector.matchLabels,
      one('NetworkPolicy').spec.podSelector.matchLabels,
      ...pod.topologySpreadConstraints.map((each: Parsed) => each.labelSelector.matchLabels),
    ];
    for (const selector of selectors) expect(selector).to.deep.equal(labels);
    const names = container.ports.map(({ name }: Parsed) => name);
    const allowed = one('NetworkPolicy').spec.ingress.flatMap((rule: Parsed) => rule.ports);
    expect(allowed.map((each: Parsed) => each.port)).to.have.members(names);
    expect(one('Service').spec.ports.map((each: Parsed) => each.targetPort)).to.deep.equal(['http']);
  });

  it('starts and stays alive without MongoDB and Redis, but is not ready', async function () {
    this.timeout(30_000);
    const env = {
      ...ADDRESSES,
      HOST: '127.0.0.1',
      PORT: '0',
      METRO__METRICS__HOST: '127.0.0.1',
      METRO__METRICS__PORT: '0',
      METRO__LOG__LEVEL: 'silent',
      METRO__SERVER__DRAINMS: '100',
    };
    const app = await createApp(await loadConfig({ path, env }));
    try {
      const { url, port: listening, metricsUrl } = await app.listen();
      const { startupProbe, readinessProbe, livenessProbe } = container;
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
