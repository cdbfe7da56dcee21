import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot, packageVersion } from '../../../core/util/package.js';
import { commandArgs } from '../../support/command-process.js';
import { request } from '../../support/http-client.js';
import { until } from '../../support/until.js';

interface Started {
  readonly process: ChildProcess;
  readonly output: () => { stdout: string; stderr: string };
  readonly exited: Promise<[code: number | null, signal: string | null]>;
}

const start = (args: readonly string[], env: Readonly<Record<string, string>>, cwd: string): Started => {
  const child = spawn(process.execPath, commandArgs(['start', ...args]), {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  return { process: child, output: () => output, exited: once(child, 'exit') as Started['exited'] };
};

const printed = async ({ output, exited }: Started, pattern: RegExp): Promise<RegExpExecArray> => {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  for (;;) {
    const match = pattern.exec(output().stdout);
    if (match) return match;
    if (ended) throw new Error(`The process ended before it printed ${pattern}: ${output().stderr}`);
    await new Promise((next) => setTimeout(next, 20));
  }
};

describe('metro-forecast start', () => {
  const running: Started[] = [];
  let folder: string;
  const run = (args: readonly string[], env: Readonly<Record<string, string>>, cwd = packageRoot) => {
    const started = start(args, env, cwd);
    running.push(started);
    return started;
  };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'start-'));
  });
  afterEach(async () => {
    for (const { process, exited } of running.splice(0)) {
      if (process.exitCode === null && process.signalCode === null) process.kill('SIGKILL');
      await exited;
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('serves the embedded dataset and prints a curl command that works', async () => {
    const started = run([], { PORT: '0' });
    const [, line] = await printed(started, /^\s+(curl .+)$/m);
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line} --silent --fail`]);
    expect(JSON.parse(stdout)).to.include({ cbsa: '26420' });
    expect(started.output().stderr).to.not.contain('mfk_');
  });

  it('reports that it does not use metro-forecast.json of the folder, and how to use it', async () => {
    await writeFile(join(folder, 'metro-forecast.json'), '{}');
    const started = run([], { PORT: '0' }, folder);
    const message =
      'ignores metro-forecast.json in this folder. To use this file: metro-forecast --config metro-forecast.json start';
    await until(() => started.output().stderr.includes(message));
  });

  it('creates a new demo key on each start', async () => {
    const keys = await Promise.all(
      [1, 2].map(async () => (await printed(run([], { PORT: '0' }), /Bearer (mfk_\w+)/))[1]),
    );
    expect(keys[0]).to.not.equal(keys[1]);
  });

  it('prints the pages with their URLs', async () => {
    const started = run([], { PORT: '0' });
    const [, explorer] = await printed(started, /^Explorer: (\S+)$/m);
    expect(started.output().stdout).to.match(/^API reference: \S+\/docs$/m);
    const { status, headers } = await request(`${explorer}`);
    expect([status, headers['content-type']]).to.deep.equal([200, 'text/html; charset=utf-8']);
  });

  it('creates no demo key unless it uses the embedded configuration', async () => {
    const config = join(folder, 'config.json');
    await writeFile(
      config,
      JSON.stringify({
        server: { port: 0 },
        adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
        plugins: ['markets', 'status'],
      }),
    );
    const started = run(['--config', config], {});
    const [, url] = await printed(started, /Listening on (\S+)/);
    expect(started.output().stdout).to.not.contain('/explore');
    expect((await request(`${url}/health`)).status).to.equal(200);
    expect((await request(`${url}/markets`)).status).to.equal(401);
    expect(started.output().stdout).to.not.contain('mfk_');
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`exits cleanly on ${signal}`, async () => {
      const started = run([], { PORT: '0' });
      await printed(started, /Listening on/);
      started.process.kill(signal);
      expect(await started.exited).to.deep.equal([0, null]);
    });
  }

  it('reports a taken port with advice, and exits with 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const started = run([], { PORT: String(port) });
    expect(await started.exited).to.deep.equal([1, null]);
    expect(started.output().stderr)
      .to.contain(`port ${port} is already in use`)
      .and.not.match(/^\s+at /m);
    taken.close();
  });

  for (const [what, env, says] of [
    ['an invalid port', { PORT: 'eighty' }, 'server.port'],
    ['a missing configuration', { METRO_CONFIG: '/nowhere.json' }, '/nowhere.json'],
    ['a mistyped override', { METRO__SERVR__PORT: '1' }, 'METRO__SERVER'],
  ] as const) {
    it(`reports ${what} without a stack trace, and exits with 1`, async () => {
      const started = run([], env);
      expect(await started.exited).to.deep.equal([1, null]);
      expect(started.output().stderr)
        .to.contain(says)
        .and.not.match(/^\s+at /m);
    });
  }

  const lines = (text: string): Record<string, unknown>[] =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const configure = async (name: string, more: object = {}): Promise<string> => {
    const path = join(folder, name);
    const adapter = { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } };
    const keys = { use: 'file', options: { path: join(folder, 'no-keys.json') } };
    await writeFile(
      path,
      JSON.stringify({ server: { port: 0 }, adapter, plugins: ['markets', 'status'], auth: { keys }, ...more }),
    );
    return path;
  };

  it('logs a failure as the last line if the log has already started', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const started = run([], { PORT: String(port) });
    await started.exited;
    taken.close();
    expect(lines(started.output().stderr).at(-1))
      .to.include({ level: 60 })
      .and.to.have.property('msg')
      .that.contains('is already in use');
  });

  it('logs a warning if no key is active, and "stopped" as the last line', async () => {
    const started = run(['--config', await configure('stopped.json')], {});
    await printed(started, /Listening on/);
    started.process.kill('SIGTERM');
    await started.exited;
    const log = lines(started.output().stderr);
    expect(log.map(({ msg }) => msg).join()).to.contain('no key is active');
    expect(log.at(-1)).to.include({ msg: 'stopped' }).and.to.have.property('ms').that.is.a('number');
  });

  it('SIGHUP applies limit and log level, lists settings that need a restart, and ignores an invalid configuration', async () => {
    const path = await configure('hup.json');
    const started = run(['--config', path], {});
    const [, url] = await printed(started, /Listening on (\S+)/);
    const logged = async (text: string) => {
      while (!started.output().stderr.includes(text)) await new Promise((next) => setTimeout(next, 20));
    };
    await configure('hup.json', {
      limits: { requestsPerMinute: 7 },
      log: { level: 'warn' },
      server: { port: 0, maxHeaders: 50 },
    });
    started.process.kill('SIGHUP');
    await logged('some changes need a restart');
    const { changed, afterRestart } = lines(started.output().stderr).at(-1)!;
    expect([changed, afterRestart]).to.deep.equal([['limits.requestsPerMinute', 'log.level'], ['server.maxHeaders']]);
    const { headers } = await request(`${url}/markets`);
    expect(headers['ratelimit-policy']).to.contain('q=7');
    expect(started.output().stderr).to.not.contain('/markets');
    await configure('hup.json', { limits: { requestsPerMinute: 'many' } });
    started.process.kill('SIGHUP');
    await logged('the configuration was not reloaded');
    const { msg } = lines(started.output().stderr).at(-1)!;
    expect(msg).to.match(/ has an error: limits\.requestsPerMinute: "many" is not allowed; [^\n]+$/);
    expect((await request(`${url}/markets`)).headers['ratelimit-policy']).to.contain('q=7');
  });

  it('logs client addresses according to log.addresses', async () => {
    for (const [addresses, shown] of [
      ['none', undefined],
      ['network', '127.0.0.0/24'],
      ['full', '127.0.0.1'],
    ] as const) {
      const started = run(['--config', await configure(`${addresses}.json`, { log: { addresses } })], {});
      const [, url] = await printed(started, /Listening on (\S+)/);
      await request(`${url}/status`);
      started.process.kill('SIGINT');
      await started.exited;
      const line = lines(started.output().stderr).find(({ msg }) => msg === 'request');
      expect(line?.['address']).to.equal(shown);
    }
  });

  it('logs its version, and successful probes only with log.probes', async () => {
    for (const probes of [false, true]) {
      const started = run(['--config', await configure(`probes-${probes}.json`, { log: { probes } })], {});
      const [, url] = await printed(started, /Listening on (\S+)/);
      for (const path of ['/ready', '/health', '/status']) await request(`${url}${path}`);
      started.process.kill('SIGINT');
      await started.exited;
      const logged = lines(started.output().stderr);
      const routes = logged.filter(({ msg }) => msg === 'request').map((line) => String(line['route']).slice(7));
      expect(routes).to.deep.equal(probes ? ['/ready', '/health', '/status'] : ['/status']);
      expect(logged.find(({ msg }) => msg === 'listening')?.['version']).to.equal(packageVersion);
    }
  });

  it('log.requests: combined writes lines in the Apache format, and none writes no lines', async () => {
    const log = async (requests: string): Promise<string> => {
      const settings = { log: { requests, addresses: 'full' } };
      const started = run(['--config', await configure(`${requests}.json`, settings)], {});
      const [, url] = await printed(started, /Listening on (\S+)/);
      const headers = { 'User-Agent': 'a "b"\\', Referer: 'https://a.b/c?d=e' };
      for (const path of ['/status?x=1', `/markets/${'mfa_'}${'a'.repeat(43)}`])
        await request(`${url}${path}`, { headers });
      started.process.kill('SIGINT');
      await started.exited;
      return started.output().stderr;
    };
    const combined = await log('combined');
    const time = '\\[\\d\\d/[A-Z][a-z]{2}/\\d{4}:\\d\\d:\\d\\d:\\d\\d \\+0000\\]';
    expect(combined).to.match(
      new RegExp(
        `^127.0.0.1 - - ${time} "GET /api/v1/status HTTP/1.1" 400 \\d+ "https://a.b/c" "a \\\\"b\\\\"\\\\\\\\"$`,
        'm',
      ),
    );
    expect(combined)
      .to.match(/"GET \/api\/v1\/markets\/.* HTTP\/1.1" 401 /)
      .and.to.not.contain('a'.repeat(43));
    expect(await log('none')).to.not.match(/request"|GET/);
  });
});
