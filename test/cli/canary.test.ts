/** Keys must not appear in the log, the metrics, responses or files. Only the key file can contain their digests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Command } from 'commander';
import { register as registerConfig } from '../../cli/commands/config.js';
import { register as registerDoctor } from '../../cli/commands/doctor.js';
import { register as registerKeys } from '../../cli/commands/keys.js';
import { createKey } from '../../core/keys/key.js';
import { packageRoot } from '../../core/util/package.js';
import { commandArgs } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { misplaceKeys } from '../support/misplaced-keys.js';
import { runCommand } from '../support/run-command.js';
import { findSecrets } from '../support/secret-forms.js';

const serve = (env: Readonly<Record<string, string>>, ...args: string[]) => {
  const child = spawn(process.execPath, commandArgs([...args, 'start']), {
    cwd: packageRoot,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      METRO__LOG__LEVEL: 'trace',
      METRO__LOG__FORMAT: 'json',
      METRO__METRICS__PORT: '0',
      METRO__LIMITS__REQUESTS_PER_MINUTE: '30',
      ...env,
    },
  });
  const output = { out: '', log: '' };
  child.stdout.on('data', (chunk) => {
    output.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.log += chunk;
  });
  const find = async (text: 'out' | 'log', pattern: RegExp): Promise<readonly string[]> => {
    for (;;) {
      const match = pattern.exec(output[text]);
      if (match) return match;
      if (child.exitCode !== null) throw new Error(output.log);
      await new Promise((next) => setTimeout(next, 20));
    }
  };
  return { child, output, find };
};

describe('a key, valid or not', () => {
  it('never appears in the log, the metrics or a response, wherever it was sent, with or without its prefix', async () => {
    const { child, output, find } = serve({});
    try {
      const [, valid, url] = (await find('out', /Bearer (mfk_\w+)" (\S+)\/markets/)) as [string, string, string];
      const [, metricsUrl] = (await find('log', /"metricsUrl":"([^"]+)"/)) as [string, string];
      const unknown = createKey().key;
      const mistyped = `${valid.slice(0, -1)}${valid.endsWith('0') ? '1' : '0'}`;
      const secrets = { valid, unknown, mistyped };
      const whole = Object.values(secrets);
      const parts = whole.map((key) => key.slice('mfk_'.length));
      const responses = await misplaceKeys(url, [...whole, ...parts], valid);
      const metrics = (await request(metricsUrl)).text;
      child.kill('SIGINT');
      await once(child, 'close');

      expect(output.log.split('\n').length).to.be.above(40);
      expect(metrics).to.contain('authentications_total{result="invalid"}');
      expect(responses).to.contain('invalid_api_key').and.to.contain('rate_limited');
      const places = [
        { name: 'the log', text: output.log },
        { name: 'the metrics', text: metrics },
        { name: 'the responses', text: responses },
      ];
      expect(findSecrets(places, secrets)).to.deep.equal([]);
    } finally {
      if (child.exitCode === null) child.kill('SIGKILL');
    }
  });

  it('is exchanged for a one-time code in the printed link, and the log does not contain the code', async () => {
    const { child, output, find } = serve({});
    try {
      const [, origin, code] = (await find('out', /(http:\S+)\/sign-in#(\S+)/)) as [string, string, string];
      const [, key] = (await find('out', /Bearer (mfk_\w+)"/)) as [string, string];
      const redeem = () => request(`${origin}/one-time-code`, { method: 'POST', headers: { 'One-Time-Code': code } });
      expect((await redeem()).json).to.deep.equal({ key });
      expect((await redeem()).status).to.equal(401);
      child.kill('SIGINT');
      await once(child, 'close');
      expect(output.log).to.contain('/one-time-code').and.not.contain(code);
    } finally {
      if (child.exitCode === null) child.kill('SIGKILL');
    }
  });

  it('never appears in a file; its digest appears in the key file only, and its pepper nowhere', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'canary-'));
    const config = join(folder, 'own.json');
    const pepper = createKey().key.slice(4);
    const env: Readonly<Record<string, string>> = { PORT: '0', METRO__AUTH__PEPPERS__7: pepper };
    await writeFile(
      config,
      JSON.stringify({
        adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
        plugins: ['markets', 'status'],
        auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
      }),
    );
    const command = async (register: (program: Command) => void, args: string[], variables = env) => {
      const { stdout, stderr, error } = await runCommand(register, ['--config', config, ...args], variables);
      if (error) throw error;
      return { stdout, all: stdout + stderr };
    };
    const keysCommand = async (...args: string[]) =>
      JSON.parse((await command(registerKeys, ['keys', ...args, '--json'])).stdout);
    const plain = JSON.parse((await command(registerKeys, ['keys', 'create', '--name', 'a', '--json'], {})).stdout);
    const kept = await keysCommand('create', '--name', 'b');
    const { child, output, find } = serve(env, '--config', config);
    try {
      const [, url] = (await find('out', /Listening on (\S+)/)) as [string, string];
      const [, metricsUrl] = (await find('log', /"metricsUrl":"([^"]+)"/)) as [string, string];
      await keysCommand('limit', kept.id, '5');
      const { created } = await keysCommand('rotate', kept.id);
      const keys = { plain: plain.key, kept: kept.key, rotated: created.key, unknown: createKey().key };
      const responses = await misplaceKeys(url, Object.values(keys), plain.key);
      const headers = { Authorization: `Bearer ${kept.key}` };
      expect((await request(`${url}/markets`, { headers })).status).to.equal(200);
      const metrics = (await request(metricsUrl)).text;
      child.kill('SIGINT');
      await once(child, 'close');

      const files = (await readdir(folder)).filter((name) => name.startsWith('keys.json'));
      expect(files).to.have.members([
        'keys.json',
        'keys.json.audit.ndjson',
        'keys.json.audit.ndjson.head',
        'keys.json.used.json',
      ]);
      const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
      const shown = [
        await command(registerConfig, ['config', '--json']),
        await command(registerDoctor, ['doctor', '--json']),
        await command(registerKeys, ['keys', 'list']),
        await command(registerKeys, ['keys', 'audit', '--json']),
      ];
      const places = [
        ...files.map((name, i) => ({ name, text: texts[i] as string, keepsHashes: name === 'keys.json' })),
        ...shown.map(({ all }, i) => ({ name: `the output of command ${i}`, text: all })),
        { name: 'the log', text: output.log },
        { name: 'the metrics', text: metrics },
        { name: 'the responses', text: responses },
      ];
      expect(findSecrets(places, { ...keys, pepper })).to.deep.equal([]);
      // The digests in the key file depend on the pepper, so they cannot be computed from a key alone.
      expect(
        findSecrets(
          places.map((place) => ({ ...place, keepsHashes: false })),
          { kept: kept.key },
        ),
      ).to.deep.equal([]);
      expect(texts[files.indexOf('keys.json.used.json')]).to.include(kept.id).and.include(plain.id);
      expect(texts[files.indexOf('keys.json.audit.ndjson')]).to.include('"action":"rotate"');
      expect(shown[0]?.stdout).to.include('METRO__AUTH__PEPPERS__7').and.include('"7": "***"');
    } finally {
      if (child.exitCode === null) child.kill('SIGKILL');
      await rm(folder, { recursive: true });
    }
  });
});
