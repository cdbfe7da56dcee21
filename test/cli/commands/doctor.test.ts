import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register } from '../../../cli/commands/doctor.js';
import { register as registerKeys } from '../../../cli/commands/keys.js';
import { checkNode } from '../../../cli/doctor/checks.js';
import { packageRoot } from '../../../core/util/package.js';
import { commandArgs, startProcess } from '../../support/command-process.js';
import { needsRoot, runAsOther } from '../../support/other-user.js';
import { runCommand } from '../../support/run-command.js';
import { freePort } from '../../support/server-process.js';
import { redisForTests } from '../../support/services.js';
import { smallDisk } from '../../support/small-disk.js';
import { startTestApp } from '../../support/test-app.js';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly advice?: readonly string[];
}

const KEYS = { use: 'file', options: { path: 'keys.json' } };

describe('metro-forecast doctor', () => {
  let folder: string;
  let config: string;
  let server: { host: string; port: number };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-'));
    config = join(folder, 'config.json');
    server = { host: '127.0.0.1', port: await freePort() };
    await cp(join(packageRoot, 'plugins/metro/dataset'), join(folder, 'dataset'), { recursive: true });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const configure = (more: object = {}) =>
    writeFile(
      config,
      JSON.stringify({
        server,
        adapter: { use: 'json', options: { path: 'dataset' } },
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status'],
        auth: { keys: KEYS },
        ...more,
      }),
    );

  const examine = async (): Promise<{ ok: boolean; exitCode: number; found: Record<string, Finding> }> => {
    const before = process.exitCode;
    process.exitCode = 0;
    try {
      const { stdout, error } = await runCommand(register, ['--config', config, 'doctor', '--json']);
      if (error) throw error;
      const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
      return {
        ok,
        exitCode: Number(process.exitCode),
        found: Object.fromEntries(checks.map((one) => [one.check, one])),
      };
    } finally {
      process.exitCode = before;
    }
  };
  const states = (found: Record<string, Finding>) =>
    Object.fromEntries(Object.entries(found).map(([check, { state }]) => [check, state]));

  const HEALTHY = {
    node: 'ok',
    configuration: 'ok',
    permissions: 'ok',
    storage: 'ok',
    dataset: 'ok',
    keys: 'ok',
    redis: 'ok',
    port: 'ok',
  };

  it('reports ok for all checks with a key and a real Redis', async function () {
    this.timeout(60_000);
    await configure({ redis: { url: (await redisForTests()).url } });
    const created = await runCommand(registerKeys, ['--config', config, 'keys', 'create', '--name', 'a']);
    expect(created.error).to.equal(undefined);
    const { ok, exitCode, found } = await examine();
    expect([ok, exitCode, states(found)]).to.deep.equal([true, 0, HEALTHY]);
    expect(found['dataset']!.message).to.match(/^7 collections, [\d,]+ rows$/);
    expect(found['redis']!.message).to.match(/^counts a request in/);
  });

  it('fails if the disk of the dataset or of the keys is full', async function () {
    const disk = join(folder, 'disk');
    await mkdir(disk);
    await configure({ auth: { keys: { use: 'file', options: { path: 'disk/new/keys.json' } } } });
    await smallDisk(this, disk, async () => {
      const { ok, exitCode, found } = await examine();
      expect([ok, exitCode]).to.deep.equal([false, 1]);
      expect(found['disk']).to.deep.include({ state: 'failed', message: `the disk of ${disk} is full` });
    });
  });

  it('prints one line per finding, with advice under it', async () => {
    await configure();
    const { stdout } = await runCommand(register, ['--config', config, 'doctor']);
    expect(stdout).to.match(/^ok {7}node {11}version \d/);
    expect(stdout).to.match(/^warning {2}keys .+\n {24}-> metro-forecast --config \S+ keys create/m);
    const advice = `-> metro-forecast --config ${config} keys create --name NAME`;
    expect(stdout).to.contain(advice);
    expect((await runCommand(register, ['doctor'], { METRO_CONFIG: config })).stdout).to.contain(advice);
  });

  it('warns if there is no usable key, and about keys that expire soon', async () => {
    await configure();
    expect((await examine()).found['keys']).to.deep.include({ state: 'warning' });
    await runCommand(registerKeys, ['--config', config, 'keys', 'create', '--name', 'a', '--expires', '2d']);
    const { ok, found } = await examine();
    expect([ok, found['keys']!.state]).to.deep.equal([true, 'warning']);
    expect(found['keys']!.advice!.join()).to.match(/\("a"\) expires at /);
    expect(found['keys']!.advice!.join()).to.contain(`--config ${config} keys create --name a --tier enterprise`);
  });

  it('warns if the successor of a rotated key expires soon, but not if the rotated key does', async () => {
    await configure();
    const keys = (...args: string[]) => runCommand(registerKeys, ['--config', config, 'keys', ...args, '--json']);
    const { id } = JSON.parse((await keys('create', '--name', 'a')).stdout);
    await keys('rotate', id, '--overlap', '2d');
    expect((await examine()).found['keys']).to.include({ state: 'ok', message: 'file: 2 of 2 keys can be used' });
    const short = JSON.parse((await keys('create', '--name', 'b', '--expires', '3d')).stdout);
    const rotated = JSON.parse((await keys('rotate', short.id, '--overlap', '2d')).stdout);
    const { advice } = (await examine()).found['keys']!;
    expect(advice).to.have.length(1);
    expect(advice![0]).to.match(new RegExp(`^${rotated.created.id} `));
  });

  it('needs no key if callers without a key have a tier, unless stored keys cannot be used', async () => {
    const auth = { tiers: { free: {} }, anonymous: 'free', keys: KEYS };
    await configure({ auth });
    expect((await examine()).found['keys']).to.include({
      state: 'ok',
      message: 'file: no active key; callers without a key have the tier "free"',
    });
    await runCommand(registerKeys, ['--config', config, 'keys', 'create', '--name', 'a']);
    await configure({ auth: { ...auth, tiers: { gold: {} }, anonymous: 'gold' } });
    expect((await examine()).found['keys']).to.include({
      state: 'warning',
      message:
        'file: none of 1 active keys has a tier in auth.tiers; every caller with a key gets 401; callers without a key have the tier "gold"',
    });
  });

  it('needs no key if a plugin identifies callers', async () => {
    const plugin = `export default {
      kind: 'plugin', name: 'guests', version: '1.0.0', description: 'Identifies every caller.',
      identity: () => ({ identify: async () => ({ id: 'guest', tier: 'enterprise' }) }),
    };`;
    await writeFile(join(folder, 'guests.mjs'), plugin);
    await configure({ plugins: ['markets', './guests.mjs'] });
    expect((await examine()).found['keys']).to.include({
      state: 'ok',
      message: 'file: no active key; plugins also identify callers',
    });
  });

  it('warns about keys whose pepper is not configured, with advice', async () => {
    await configure({ auth: { peppers: { '3': 'x'.repeat(32) }, keys: KEYS } });
    await runCommand(registerKeys, ['--config', config, 'keys', 'create', '--name', 'a']);
    expect((await examine()).found['keys']).to.include({ state: 'ok', message: 'file: 1 of 1 keys can be used' });
    await configure();
    const none = (await examine()).found['keys']!;
    expect(none).to.include({
      state: 'warning',
      message: 'file: none of 1 active keys can be used; every caller gets 401',
    });
    await runCommand(registerKeys, ['--config', config, 'keys', 'create', '--name', 'b']);
    const some = (await examine()).found['keys']!;
    expect(some).to.include({ state: 'warning', message: 'file: 1 of 2 keys can be used' });
    for (const { advice } of [none, some]) {
      expect(advice).to.have.length(1);
      expect(advice![0]).to.contain('auth.peppers has no version 3').and.to.contain('Set it to its previous value');
    }
  });

  it('an invalid configuration fails, and all other checks are skipped', async () => {
    await configure({ limits: { requestsPerMinut: 1 } });
    const { ok, exitCode, found } = await examine();
    expect([ok, exitCode]).to.deep.equal([false, 1]);
    expect(found['configuration']!.advice![0]).to.contain('did you mean "requestsPerMinute"?');
    expect(found['configuration']!.advice!.join()).to.not.contain('init');
    const { node, configuration, ...rest } = states(found);
    expect([node, configuration]).to.deep.equal(['ok', 'failed']);
    expect(new Set(Object.values(rest))).to.deep.equal(new Set(['skipped']));
  });

  it('advises "init" only if the configuration does not exist', async () => {
    const { found } = await examine();
    expect(found['configuration']!.advice).to.deep.equal(['To write a new configuration: metro-forecast init FILE']);
  });

  it('a missing dataset fails the check of storage, and its rows are not checked', async () => {
    await configure({ adapter: { use: 'json', options: { path: 'nowhere' } } });
    const { exitCode, found } = await examine();
    expect(exitCode).to.equal(1);
    expect(states(found)).to.deep.include({ storage: 'failed', dataset: 'skipped', port: 'ok' });
    expect(found['storage']!.advice!.join())
      .to.contain('adapter.options.path')
      .and.to.contain('metro-forecast --config')
      .and.to.contain(' publish DIR');
  });

  it('a dataset that the user may not read is reported as such', async function () {
    needsRoot(this);
    await configure();
    await chmod(folder, 0o755);
    await chmod(config, 0o644);
    await chmod(join(folder, 'dataset'), 0o700);
    const { output } = await runAsOther(commandArgs(['--config', config, 'doctor']));
    expect(output)
      .to.match(/^FAILED +storage [^\n]*\n +-> Let the user "\w+" read/m)
      .and.to.not.contain('import SOURCE');
  }).timeout(30_000);

  it('an invalid row is reported with its file', async () => {
    await configure();
    const path = join(folder, 'dataset/manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    const { file } = manifest.collections.markets;
    const rows = await readFile(join(folder, 'dataset', file), 'utf8');
    await writeFile(join(folder, 'dataset', file), rows.replace('"signal":"hold"', '"signal":"held"'));
    manifest.collections.markets = { file };
    await writeFile(path, JSON.stringify(manifest));
    const { exitCode, found } = await examine();
    expect(exitCode).to.equal(1);
    const { message, advice } = found['storage']!;
    expect(message).to.match(/dataset is not valid, version \S+:$/);
    expect(advice!.slice(0, -1).join()).to.contain('signal').and.to.contain(file).and.to.not.contain('\n');
    expect(advice!.at(-1)).to.equal(
      `To list all errors: metro-forecast --config ${config} validate ${join(folder, 'dataset')}`,
    );
    expect(advice!.join()).to.not.contain('adapter.options');
    await writeFile(path, '{');
    const unread = (await examine()).found['storage']!;
    expect(unread.message).to.contain('is not a valid manifest:');
    expect(unread.advice!.join()).to.not.contain('adapter.options');
  });

  it('an adapter and a key store that cannot be created fail, and the other checks run', async () => {
    const source = (kind: string) => `export default {
      kind: '${kind}', name: 'own', version: '1.0.0', capabilities: { publish: false, versions: false }, options: {},
      create() { throw new Error('the ${kind} has no licence'); },
    };`;
    for (const kind of ['adapter', 'key-store']) await writeFile(join(folder, `${kind}.mjs`), source(kind));
    await configure({ adapter: './adapter.mjs', auth: { keys: './key-store.mjs' } });
    const { exitCode, found } = await examine();
    expect(exitCode).to.equal(1);
    expect(found['storage']).to.include({ state: 'failed', message: 'the adapter has no licence' });
    expect(found['keys']).to.include({ state: 'failed', message: 'the key-store has no licence' });
    expect(found['port']!.state).to.equal('ok');
  });

  it('an unreachable Redis fails, and the advice describes the limits in the meantime', async () => {
    await configure({ redis: { url: `redis://127.0.0.1:${await freePort()}` } });
    const { exitCode, found } = await examine();
    expect([exitCode, found['redis']!.state]).to.deep.equal([1, 'failed']);
    expect(found['redis']!.message).to.contain('ECONNREFUSED');
    expect(found['redis']!.advice!.join()).to.contain('each replica counts on its own');
  });

  it('fails if the metrics port is taken, or if it equals the port of the API', async () => {
    const taken = createServer((socket) => socket.end()).listen(0, server.host);
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    await configure({ metrics: { port } });
    const { found } = await examine();
    taken.close();
    expect(found['metrics port']).to.include({ state: 'failed' });
    expect(found['metrics port']!.message).to.contain(`port ${port} is already in use; set metrics.port`);
    await configure({ metrics: { port: server.port } });
    expect((await examine()).found['configuration']!.advice![0]).to.contain('is already the API port (server.port)');
  });

  it('another service on the port fails, even if its /health responds', async () => {
    const stranger = createHttpServer((_request, response) => response.end('{"status":"ok"}')).listen(
      server.port,
      server.host,
    );
    await once(stranger, 'listening');
    await configure();
    const { found } = await examine();
    stranger.close();
    expect(found['port']!.state).to.equal('failed');
  });

  it('a missing address is reported with the variable that sets it', async () => {
    await configure({ adapter: 'mongo', redis: {} });
    const advice = (await examine()).found['configuration']!.advice!.join();
    expect(advice).to.contain('MONGODB_URI').and.to.contain('REDIS_URL');
  });

  it('a port that another program or a service with other endpoints uses fails; the port of this running service is ok', async () => {
    const taken = createServer((socket) => socket.end()).listen(server.port, server.host);
    await once(taken, 'listening');
    await configure();
    const { exitCode, found } = await examine();
    taken.close();
    expect([exitCode, found['port']!.state]).to.deep.equal([1, 'failed']);
    expect(found['port']!.message).to.contain('is already in use; set PORT or server.port');

    const app = await startTestApp();
    try {
      server = { host: '127.0.0.1', port: Number(new URL(app.url).port) };
      await configure();
      expect((await examine()).found['port']).to.include({ state: 'ok' });
      await configure({ plugins: ['markets', 'status'] });
      expect((await examine()).found['port']!.message).to.contain('is already in use; set PORT or server.port');
    } finally {
      await app.close();
    }
  });

  it('reports a pipe named in the MongoDB connection string, and exits', async () => {
    const pipe = join(folder, 'ca.pem');
    execFileSync('mkfifo', [pipe]);
    const options = { uri: `mongodb://127.0.0.1:1/?tls=true&tlsCAFile=${pipe}` };
    await configure({
      adapter: { use: 'mongo', options },
      plugins: ['markets'],
      auth: { keys: { use: 'mongo', options } },
    });
    const child = startProcess(['--config', config, 'doctor'], {}, 'pipe');
    const timeout = setTimeout(() => child.kill('SIGKILL'), 30_000);
    let output = '';
    child.stdout!.on('data', (chunk) => {
      output += chunk;
    });
    const [code, signal] = await once(child, 'close');
    clearTimeout(timeout);
    expect([code, signal]).to.deep.equal([1, null]);
    for (const check of ['storage', 'keys']) {
      expect(output).to.match(new RegExp(`^FAILED +${check} .*cannot read ${pipe}: it is a pipe`, 'm'));
    }
  }).timeout(60_000);

  it('accepts only supported versions of Node', () => {
    for (const [version, state] of [
      ['20.19.0', 'ok'],
      ['22.0.0', 'ok'],
      ['100.1.0', 'ok'],
      ['20.18.9', 'failed'],
      ['18.20.0', 'failed'],
    ] as const) {
      expect(checkNode(version).state, version).to.equal(state);
    }
  });
});
