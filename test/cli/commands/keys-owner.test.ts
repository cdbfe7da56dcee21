import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { register } from '../../../cli/commands/keys.js';
import { packageRoot } from '../../../core/util/package.js';
import { commandArgs } from '../../support/command-process.js';
import { giveAway, needsRoot, OTHER_USER, ownerOf, runAsOther } from '../../support/other-user.js';
import { expecting, runCommand } from '../../support/run-command.js';
import { freePort } from '../../support/server-process.js';
import { smallDisk } from '../../support/small-disk.js';

describe('metro-forecast keys for a service that runs as another user', () => {
  let folder: string;
  let config: string;
  let port: number;
  let service: ChildProcess | undefined;

  before(function () {
    needsRoot(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keys-owner-'));
    config = join(folder, 'api.json');
    port = await freePort();
    await writeFile(
      config,
      JSON.stringify({
        server: { port },
        adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
        plugins: ['markets'],
        auth: { keys: { use: 'file', options: { path: 'keys.json', pollMs: 100 } } },
      }),
    );
    await giveAway(folder);
    await giveAway(config);
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true });
  });

  const asRoot = expecting((...args) => runCommand(register, ['keys', ...args, '--config', config], {}));
  const asOther = (...args: string[]) => runAsOther(commandArgs(['-c', config, 'keys', ...args]));

  const status = async (key: string): Promise<number> => {
    const headers = { Authorization: `Bearer ${key}` };
    return (await fetch(`http://127.0.0.1:${port}/api/v1/markets`, { headers })).status;
  };
  const until = async (key: string, expected: number): Promise<void> => {
    for (const end = performance.now() + 20_000; ; await delay(50)) {
      const found = await status(key).catch(() => undefined);
      if (found === expected) return;
      if (performance.now() > end) expect.fail(`${found} in place of ${expected}`);
    }
  };
  const start = (): void => {
    service = spawn(process.execPath, commandArgs(['-c', config, 'start']), {
      ...OTHER_USER,
      cwd: '/',
      stdio: 'ignore',
    });
  };
  const stop = async (): Promise<void> => {
    if (!service || service.exitCode !== null || service.signalCode !== null) return;
    const gone = once(service, 'exit');
    service.kill('SIGKILL');
    await gone;
  };

  it('a key that root revokes is rejected by the running service and after its restart', async () => {
    const created = await asOther('create', '--name', 'A', '--json');
    const { key, id } = JSON.parse(created.output);
    const other = JSON.parse((await asOther('create', '--name', 'B', '--json')).output);
    start();
    await until(key, 200);
    await asRoot.done('revoke', id);
    await until(key, 401);
    expect(await status(other.key)).to.equal(200);
    await stop();
    start();
    await until(other.key, 200);
    expect(await status(key)).to.equal(401);
  }).timeout(60_000);

  it('files that root creates belong to the owner of the folder', async () => {
    const { id } = await asRoot.json('create', '--name', 'A');
    const names = await readdir(folder);
    expect(names.sort()).to.deep.equal([
      'api.json',
      'keys.json',
      'keys.json.audit.ndjson',
      'keys.json.audit.ndjson.head',
    ]);
    for (const name of names.slice(1)) expect(await ownerOf(join(folder, name)), name).to.equal('65534:65534 600');
    const { code, output } = await asOther('revoke', id);
    expect(output).to.match(/was revoked/);
    expect(code).to.equal(0);
  });

  it('changes nothing if the user cannot keep the owner of the file, and prints the right command', async () => {
    const { id } = await asRoot.json('create', '--name', 'A');
    const path = join(folder, 'keys.json');
    for (const name of await readdir(folder)) await chmod(join(folder, name), 0o666);
    await chown(path, 0, 0);
    const before = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
    const { code, output } = await asOther('revoke', id);
    expect(output).to.match(/keys\.json cannot be written: it belongs to user 0 .* sudo -u '#0'/);
    expect(code).to.equal(1);
    const after = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
    expect(after).to.deep.equal(before);
    expect(await ownerOf(path)).to.equal('0:0 666');
  });

  it('reports the lock file if the user may not create it', async () => {
    const { id } = await asRoot.json('create', '--name', 'A');
    await chmod(folder, 0o555);
    const { code, output } = await asOther('revoke', id);
    expect(output).to.match(/its lock file .*keys\.json\.lock cannot be created: permission is denied\.\n$/);
    expect(code).to.equal(1);
  });

  it('changes nothing on a full disk', async function () {
    await smallDisk(this, folder, async () => {
      await writeFile(
        config,
        JSON.stringify({
          adapter: { use: 'memory' },
          plugins: ['status'],
          auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
        }),
      );
      const { id } = await asRoot.json('create', '--name', 'A');
      const before = await readFile(join(folder, 'keys.json'), 'utf8');
      await writeFile(join(folder, 'filler'), 'x'.repeat(64 * 1024)).catch(() => undefined);
      expect(await asRoot.refused('revoke', id)).to.match(/the disk is full/);
      expect(await readFile(join(folder, 'keys.json'), 'utf8')).to.equal(before);
      await rm(join(folder, 'filler'));
      await asRoot.done('revoke', id);
      expect((await asRoot.done('audit', '--verify')).stdout).to.match(/is complete/);
    });
  });
});
