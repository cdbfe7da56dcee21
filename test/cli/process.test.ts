import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { commandArgs } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { freePort } from '../support/server-process.js';
import { skip } from '../support/skip.js';
import { childrenOf } from '../support/spawned-service.js';
import { until } from '../support/until.js';

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly stderr?: number;
  readonly stdout?: number;
  readonly command?: readonly string[];
}

interface Service {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exited: Promise<[code: number | null, signal: string | null]>;
}

const config = {
  adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
  auth: { keys: 'memory' },
};

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

describe('the process of a service', () => {
  let folder: string;
  let port: number;
  const running: Service[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'process-'));
    port = await freePort();
  });

  afterEach(async () => {
    for (const { child, exited } of running.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    }
    await rm(folder, { recursive: true, force: true });
  });

  const start = ({
    env = {},
    stderr,
    stdout,
    command = [process.execPath, ...commandArgs(['start'])],
  }: Options = {}) => {
    const child = spawn(command[0]!, command.slice(1), {
      cwd: packageRoot,
      env: { PATH: process.env['PATH'], PORT: String(port), METRO__SERVER__DRAIN_DELAY_MS: '0', ...env },
      stdio: ['ignore', stdout ?? 'pipe', stderr ?? 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) child[name]?.on('data', (chunk) => (output[name] += chunk));
    const service: Service = { child, output, exited: once(child, 'exit') as Service['exited'] };
    running.push(service);
    return service;
  };
  const url = (path: string) => `http://127.0.0.1:${port}/api/v1${path}`;
  const isReady = () =>
    request(url('/ready')).then(
      ({ status }) => status === 200,
      () => false,
    );
  const started = async (options: Options = {}): Promise<Service> => {
    const service = start(options);
    await until(() => {
      if (service.child.exitCode !== null) throw new Error(`The process ended: ${service.output.stderr}`);
      return isReady();
    });
    return service;
  };

  const slowStart = async (): Promise<string> => {
    await writeFile(
      join(folder, 'slow.mjs'),
      `process.stdout.write('loading\\n');
       await new Promise((resolve) => setTimeout(resolve, 2000));
       process.stdout.write('loaded\\n');
       export default { kind: 'plugin', name: 'slow', version: '1.0.0', description: 'Slow.', routes: () => [] };`,
    );
    const path = join(folder, 'api.json');
    await writeFile(path, JSON.stringify({ ...config, plugins: ['status', './slow.mjs'] }));
    return path;
  };

  for (const workers of [1, 2]) {
    const env = { METRO__SERVER__WORKERS: String(workers) };
    const how = workers === 1 ? 'without workers' : 'with workers';

    it(`${how} SIGTERM during startup makes it exit with 0 before the plugins are loaded`, async () => {
      const path = await slowStart();
      const service = start({ env: { ...env, METRO_CONFIG: path } });
      await until(() => service.output.stdout.includes('loading'));
      service.child.kill('SIGTERM');
      expect(await service.exited).to.deep.equal([0, null]);
      expect(service.output.stdout).to.not.include('loaded');
    });

    it(`${how} SIGHUP during startup reloads the configuration after startup`, async () => {
      const path = await slowStart();
      const service = start({ env: { ...env, METRO_CONFIG: path } });
      await until(() => service.output.stdout.includes('loading'));
      service.child.kill('SIGHUP');
      await until(isReady);
      await until(() => service.output.stderr.includes('configuration reloaded'));
    });

    it(`${how} SIGUSR1, SIGUSR2 and SIGPIPE are ignored: no debugger, no exit`, async () => {
      const service = await started({ env });
      await until(() => service.output.stderr.match(/"msg":"listening"/g)?.length === workers);
      const pids = [service.child.pid!, ...childrenOf(service.child.pid!)];
      expect(pids).to.have.length(workers === 1 ? 1 : 3);
      for (const pid of pids)
        for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const) process.kill(pid, signal);
      await delay(500);
      expect(service.output.stderr).to.not.match(/Debugger|a worker exited/);
      expect(await isListening(9229)).to.equal(false);
      expect(await isReady()).to.equal(true);
      service.child.kill('SIGTERM');
      expect(await service.exited).to.deep.equal([0, null]);
    });

    it(`${how} a full disk for log and output affects no response, and it exits with 0 on SIGTERM`, async () => {
      const full = openSync('/dev/full', 'w');
      const service = await started({ env, stderr: full, stdout: full });
      closeSync(full);
      for (let i = 0; i < 20; i++) expect((await request(url('/health'))).status).to.equal(200);
      await delay(1500);
      expect(await isReady()).to.equal(true);
      service.child.kill('SIGTERM');
      expect(await service.exited).to.deep.equal([0, null]);
    });

    it(`${how} a log that nothing reads blocks no request and no shutdown, and dropped lines have a metric`, async () => {
      const metricsPort = await freePort();
      const pipe = join(folder, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
      const writer = openSync(pipe, constants.O_WRONLY);
      const service = await started({ env: { ...env, METRO__METRICS__PORT: String(metricsPort) }, stderr: writer });
      closeSync(writer);
      // The log line of each request has about 7 KB, so the pipe soon fills up.
      const long = `/markets?${'x'.repeat(7000)}`;
      for (let i = 0; i < 800; i += 40) {
        const responses = await Promise.all(Array.from({ length: 40 }, () => request(url(long))));
        expect(responses.every(({ status }) => status < 500)).to.equal(true);
      }
      const { text } = await request(`http://127.0.0.1:${metricsPort}/metrics`);
      const dropped = [...text.matchAll(/^log_lines_dropped_total(?:\{.*\})? (\d+)$/gm)].map(([, count]) =>
        Number(count),
      );
      expect(dropped).to.not.be.empty;
      service.child.kill('SIGTERM');
      expect(await service.exited).to.deep.equal([0, null]);
      const bytes = Buffer.alloc(1024 * 1024);
      expect(readSync(reader, bytes)).to.be.above(30_000);
      closeSync(reader);
    });
  }

  it('SIGTERM before the first worker is ready makes it exit with 0', async () => {
    const service = start({ env: { METRO__SERVER__WORKERS: '2' } });
    await until(() => childrenOf(service.child.pid!).length > 0);
    service.child.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([0, null]);
  });

  it('a command whose results cannot be written reports that and exits with 1', async () => {
    const full = openSync('/dev/full', 'w');
    const command = [process.execPath, ...commandArgs(['config', '--schema'])];
    const { output, exited } = start({ command, stdout: full });
    closeSync(full);
    expect(await exited).to.deep.equal([1, null]);
    expect(output.stderr).to.match(/^The output cannot be written: the disk is full/);
  });

  it('loads the modules once', async () => {
    await writeFile(
      join(folder, 'counted.mjs'),
      `export default { kind: 'plugin', name: 'counted', version: '1.0.0', description: 'Counts.',
         routes: () => { process.stdout.write('routes()\\n'); return []; } };`,
    );
    const path = join(folder, 'api.json');
    await writeFile(path, JSON.stringify({ ...config, plugins: ['status', './counted.mjs'] }));
    const service = start({ env: { METRO_CONFIG: path } });
    await until(isReady);
    expect(service.output.stdout.match(/routes\(\)/g)).to.have.length(1);
  });

  it('npm start forwards SIGTERM, and waits until the service has exited', async () => {
    const command = ['npm', 'start', '--silent', '--ignore-scripts'];
    const service = await started({ command, env: { HOME: folder, npm_config_update_notifier: 'false' } });
    service.child.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([0, null]);
    expect(await isListening(port)).to.equal(false);
    expect(service.output.stderr).to.contain('"msg":"stopped"');
  });

  it('exits on SIGTERM as process 1 of a container, even during startup', async function () {
    const unshare = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
    try {
      execFileSync(unshare[0]!, [...unshare.slice(1), 'true'], { stdio: 'ignore' });
    } catch {
      return skip(this, 'this user may not create a process namespace');
    }
    const service = start({
      command: [...unshare, process.execPath, ...commandArgs(['start'])],
      env: { METRO_CONFIG: await slowStart() },
    });
    await until(() => service.output.stdout.includes('loading'));
    const [inner] = childrenOf(service.child.pid!);
    process.kill(inner!, 'SIGTERM');
    expect(await service.exited).to.deep.equal([0, null]);
    expect(service.output.stdout).to.not.include('loaded');
  });
});
