import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register as registerDoctor } from '../../../cli/commands/doctor.js';
import { register as registerKeys } from '../../../cli/commands/keys.js';
import { permissionWarnings } from '../../../core/app/file-permissions.js';
import { loadConfig, loadModules } from '../../../product.js';
import { startProcess } from '../../support/command-process.js';
import { runCommand } from '../../support/run-command.js';

const PEPPER = 'x'.repeat(32);

describe('permissionWarnings(config)', () => {
  let folder: string;
  let config: string;
  const at = (name: string): string => join(folder, name);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'loose-'));
    config = at('api.json');
    await write();
    await writeFile(at('keys.json'), '{"format":1,"keys":[]}', { mode: 0o600 });
  });
  afterEach(() => rm(folder, { recursive: true }));

  const write = async (auth = {}, mode = 0o600): Promise<void> => {
    const keys = { use: 'file', options: { path: 'keys.json' } };
    const settings = { server: { port: 0 }, adapter: 'memory', plugins: ['status'], auth: { keys, ...auth } };
    await writeFile(config, JSON.stringify(settings));
    await chmod(config, mode);
  };
  const found = async (env: Record<string, string> = {}): Promise<readonly string[]> => {
    const loaded = await loadConfig({ path: config, env });
    return permissionWarnings(loaded, await loadModules(loaded), env);
  };

  it('reports nothing for files that only the owner and the group can read', async () => {
    await write({ peppers: { 1: PEPPER } }, 0o640);
    await chmod(at('keys.json'), 0o640);
    expect(await found()).to.deep.equal([]);
  });

  const modes: [mode: number, expected: RegExp | undefined][] = [
    [0o666, /^Other users can read and change .*keys\.json \(mode 0666\): run chmod g-w,o-rwx .*keys\.json$/],
    [0o644, /^Other users can read .*keys\.json \(mode 0644\)/],
    [0o660, /^Other users can change .*keys\.json \(mode 0660\)/],
    [0o602, /^Other users can change .*keys\.json \(mode 0602\)/],
  ];
  for (const [mode, expected] of modes) {
    it(`reports a key file with mode ${mode.toString(8)}`, async () => {
      await chmod(at('keys.json'), mode);
      const [sentence, ...more] = await found();
      expect(more).to.deep.equal([]);
      expect(sentence).to.match(expected!);
    });
  }

  it('reports no device, because other programs need /dev/null', async () => {
    await rm(at('keys.json'));
    await symlink('/dev/null', at('keys.json'));
    expect(await found()).to.deep.equal([]);
  });

  it('reports the target of a symbolic link', async () => {
    await mkdir(at('real'));
    await rm(at('keys.json'));
    await writeFile(at('real/keys.json'), '{"format":1,"keys":[]}');
    await chmod(at('real/keys.json'), 0o666);
    await symlink('real/keys.json', at('keys.json'));
    expect((await found()).join()).to.match(/run chmod g-w,o-rwx .*real\/keys\.json/);
  });

  it('reports a folder in which any user can replace the files, unless it has the sticky bit', async () => {
    await chmod(folder, 0o777);
    expect((await found()).join()).to.match(/can replace .*keys\.json, .* run chmod o-w /);
    await chmod(folder, 0o1777);
    expect(await found()).to.deep.equal([]);
  });

  it('reports a configuration without secrets only if other users can change it', async () => {
    await write({}, 0o644);
    expect(await found()).to.deep.equal([]);
    await write({}, 0o646);
    expect((await found()).join()).to.match(/^Other users can change .*api\.json \(mode 0646\): run chmod g-w,o-w /);
  });

  it('reports a configuration with a secret that every user can read', async () => {
    await write({ peppers: { 1: PEPPER } }, 0o644);
    expect((await found()).join()).to.match(/^Other users can read .*api\.json/);
  });

  it('reports the secret file that an environment variable names, not the configuration', async () => {
    await write({}, 0o644);
    await writeFile(at('pepper'), PEPPER);
    await chmod(at('pepper'), 0o644);
    const sentences = await found({ METRO__AUTH__PEPPERS__1_FILE: at('pepper') });
    expect(sentences).to.have.length(1);
    expect(sentences[0]).to.match(/^Other users can read .*pepper \(mode 0644\)/);
    await chmod(at('pepper'), 0o400);
    expect(await found({ METRO__AUTH__PEPPERS__1_FILE: at('pepper') })).to.deep.equal([]);
  });

  it('is reported by "keys", by "doctor" and in the log of "start"', async () => {
    await chmod(at('keys.json'), 0o666);
    const expected = /Other users can read and change .*keys\.json/;
    expect((await runCommand(registerKeys, ['keys', 'list', '--config', config])).stderr).to.match(expected);
    const { stdout } = await runCommand(registerDoctor, ['doctor', '--json', '--config', config]);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string; advice?: string[] }[] };
    const finding = checks.find(({ check }) => check === 'permissions');
    expect(finding?.state).to.equal('warning');
    expect(finding?.advice?.join()).to.match(expected);
    expect(await logOfStart(config)).to.match(/"level":40.*Other users can read and change .*keys\.json/);
  });
});

const logOfStart = async (config: string): Promise<string> => {
  const service = startProcess(['--config', config, 'start'], {}, 'pipe');
  try {
    let log = '';
    for await (const chunk of service.stderr!) {
      log += chunk;
      if (log.includes('"listening"')) break;
    }
    return log;
  } finally {
    service.kill('SIGKILL');
  }
};
