/** `metro-forecast start`, as a process. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../core/package-root.js';
import { commandArgs } from '../support/command-process.js';
import { request } from '../support/http-client.js';

interface Started {
  readonly process: ChildProcess;
  readonly output: () => { stdout: string; stderr: string };
  readonly exited: Promise<[code: number | null, signal: string | null]>;
}

const start = (args: readonly string[], env: Readonly<Record<string, string>>): Started => {
  const child = spawn(process.execPath, commandArgs(['start', ...args]), {
    cwd: packageRoot,
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

/** Resolves with the first match in what the process prints. */
const printed = async ({ output, exited }: Started, pattern: RegExp): Promise<RegExpExecArray> => {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  for (;;) {
    const match = pattern.exec(output().stdout);
    if (match) return match;
    if (ended) throw new Error(`It ended before it printed ${pattern}: ${output().stderr}`);
    await new Promise((next) => setTimeout(next, 20));
  }
};

describe('metro-forecast start', () => {
  const running: Started[] = [];
  let folder: string;
  const run = (args: readonly string[], env: Readonly<Record<string, string>>) => {
    const started = start(args, env);
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

  it('serves the embedded dataset and prints a curl line that answers', async () => {
    const started = run([], { PORT: '0' });
    const [, line] = await printed(started, /^\s+(curl .+)$/m);
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line} --silent --fail`]);
    expect(JSON.parse(stdout)).to.include({ cbsa: '26420' });
    expect(started.output().stderr).to.not.contain('mfk_');
  });

  it('makes another demo key at each start', async () => {
    const keys = await Promise.all(
      [1, 2].map(async () => (await printed(run([], { PORT: '0' }), /Bearer (mfk_\w+)/))[1]),
    );
    expect(keys[0]).to.not.equal(keys[1]);
  });

  it('makes no demo key with a config of one’s own', async () => {
    const config = join(folder, 'config.json');
    await writeFile(
      config,
      JSON.stringify({
        server: { port: 0 },
        adapter: { use: 'json', options: { path: join(packageRoot, 'dataset') } },
        plugins: ['markets', 'status'],
      }),
    );
    const started = run(['--config', config], {});
    const [, url] = await printed(started, /Listening on (\S+)/);
    expect((await request(`${url}/health`)).status).to.equal(200);
    expect((await request(`${url}/markets`)).status).to.equal(401);
    expect(started.output().stdout).to.not.contain('mfk_');
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends cleanly on ${signal}`, async () => {
      const started = run([], { PORT: '0' });
      await printed(started, /Listening on/);
      started.process.kill(signal);
      expect(await started.exited).to.deep.equal([0, null]);
    });
  }

  it('a port that is taken is told with what to do, and exit code 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const started = run([], { PORT: String(port) });
    expect(await started.exited).to.deep.equal([1, null]);
    expect(started.output().stderr)
      .to.contain(`port ${port} is taken`)
      .and.not.match(/^\s+at /m);
    taken.close();
  });

  for (const [what, env, says] of [
    ['a port that is none', { PORT: 'eighty' }, 'server.port'],
    ['a config that is not there', { METRO_CONFIG: '/nowhere.json' }, '/nowhere.json'],
    ['a mistyped override', { METRO__SERVR__PORT: '1' }, 'METRO__SERVER'],
  ] as const) {
    it(`${what} is told without a stack trace, and exit code 1`, async () => {
      const started = run([], env);
      expect(await started.exited).to.deep.equal([1, null]);
      expect(started.output().stderr)
        .to.contain(says)
        .and.not.match(/^\s+at /m);
    });
  }
});
