import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { register } from '../../../cli/commands/keys.js';
import { OperatorError } from '../../../core/errors.js';
import { createKey, hashKey, isMistyped } from '../../../core/keys/key.js';
import { RedisLimiter } from '../../../core/limiter/redis-limiter.js';
import { connectRedis, type RedisConnection } from '../../../core/redis/connection.js';
import { packageRoot } from '../../../core/util/package.js';
import { createApp, loadConfig } from '../../../product.js';
import { startProcess } from '../../support/command-process.js';
import { request } from '../../support/http-client.js';
import { keptLogger } from '../../support/kept-logger.js';
import { expecting, runCommand } from '../../support/run-command.js';
import { redisForTests, uniqueName } from '../../support/services.js';

describe('metro-forecast keys', () => {
  let folder: string;
  let config: string;
  let env: Record<string, string>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cli-keys-'));
    config = join(folder, 'own.json');
    await writeFile(
      config,
      JSON.stringify({
        adapter: { use: 'memory' },
        plugins: ['status'],
        auth: { tiers: ['enterprise', 'partner'], keys: { use: 'file', options: { path: 'keys.json' } } },
      }),
    );
  });
  beforeEach(async () => {
    env = {};
    for (const name of await readdir(folder)) if (name.startsWith('keys.json')) await rm(join(folder, name));
  });
  after(() => rm(folder, { recursive: true }));

  const keys = (...args: string[]) => runCommand(register, ['keys', ...args, '--config', config], env);
  const { done, refused } = expecting(keys);
  const create = async (...args: string[]) => JSON.parse((await done('create', '--json', ...args)).stdout);

  it('create --name prints only the key on standard output, and stores its hash in the key file', async () => {
    const { stdout, stderr } = await done('create', '--name', 'Team A');
    const key = stdout.trim();
    expect(isMistyped(key)).to.equal(false);
    expect(stdout).to.equal(`${key}\n`);
    expect(stderr).to.match(
      /^key_\w{10} \("Team A"\) was created\. Store the key now, because it cannot be shown again:\n$/,
    );
    const file = await readFile(join(folder, 'keys.json'), 'utf8');
    expect(file).to.include(hashKey(key)).and.not.include(key);
    expect((await done('list')).stdout)
      .to.include('Team A')
      .and.not.include(key);
  });

  describe('with a key store that loses changes', () => {
    const LOSES_CHANGES = `
      const records = [{ id: 'key_a', hash: '0'.repeat(64), name: 'A', tier: 'enterprise', limit_per_minute: null,
        created_at: '2026-01-01T00:00:00.000Z', expires_at: null, revoked_at: null }];
      export default {
        kind: 'key-store', name: 'lossy', options: { type: 'object' },
        create: () => ({
          open: async () => {}, close: async () => {}, lookup: () => undefined, onChange: () => {},
          health: () => ({ ok: true, message: null }), list: async () => records, insert: async () => {},
          update: async (id, change) => ({ ...records[0], ...change }),
        }),
      };`;
    let lossy: string;

    before(async () => {
      lossy = join(folder, 'lossy.json');
      await writeFile(join(folder, 'lossy.mjs'), LOSES_CHANGES);
      const auth = { tiers: ['enterprise', 'partner'], keys: { use: './lossy.mjs' } };
      await writeFile(lossy, JSON.stringify({ adapter: 'memory', plugins: ['status'], auth }));
    });

    const commands: (readonly [string, ...string[]])[] = [
      ['create', '--name', 'B'],
      ['revoke', 'key_a'],
      ['rotate', 'key_a'],
      ['limit', 'key_a', '9'],
      ['tier', 'key_a', 'partner'],
    ];
    for (const args of commands) {
      it(`${args[0]} fails`, async () => {
        const { error, stdout } = await runCommand(register, ['keys', ...args, '--config', lossy], env);
        expect(error?.message).to.match(/^The key store does not have the new value of .*key_/);
        expect(stdout).to.equal('');
      });
    }
  });

  it('rotate creates a successor that shares the limit, and the old key stays valid for the overlap', async () => {
    const first = await create('--name', 'R', '--tier', 'partner', '--limit', '50');
    const { old, created } = JSON.parse((await done('rotate', first.id, '--overlap', '2d', '--json')).stdout);
    expect(Date.parse(old.expires_at) - Date.now()).to.be.within(47 * 3_600_000, 48 * 3_600_000);
    expect(created).to.include({ name: 'R', tier: 'partner', limit_per_minute: 50, expires_at: null });
    expect(created.shares_limit_of).to.equal(first.id);
    expect(created.key).to.not.equal(first.key);
    const { created: third } = JSON.parse((await done('rotate', created.id, '--json')).stdout);
    expect(third.shares_limit_of).to.equal(first.id);
    expect(JSON.parse((await done('list', '--json')).stdout).length).to.equal(3);
  });

  it('limit changes all keys that share the limit of the named key', async () => {
    const first = await create('--name', 'L', '--limit', '50');
    const other = await create('--name', 'M', '--limit', '50');
    const { created: second } = JSON.parse((await done('rotate', first.id, '--json')).stdout);
    const { created: third } = JSON.parse((await done('rotate', second.id, '--json')).stdout);
    const limits = async () => {
      const listed: { id: string; limit_per_minute: number }[] = JSON.parse((await done('list', '--json')).stdout);
      return [first, second, third, other].map(({ id }) => listed.find((key) => key.id === id)?.limit_per_minute);
    };
    await done('limit', third.id, '7');
    expect(await limits()).to.deep.equal([7, 7, 7, 50]);
    await done('limit', first.id, '9');
    expect(await limits()).to.deep.equal([9, 9, 9, 50]);
    await done('limit', other.id, 'default');
    expect(await limits()).to.deep.equal([9, 9, 9, null]);
  });

  it('rotate rejects a key that already has a successor, names the successor, and prints when a new successor expires', async () => {
    const { id } = await create('--name', 'R');
    const { created } = JSON.parse((await done('rotate', id, '--json', '--overlap', '2d')).stdout);
    expect(await refused('rotate', id)).to.include(`its successor ${created.id}`);
    await done('revoke', created.id);
    expect((await done('rotate', id)).stderr).to.match(
      /The successor of key_\w+ \("R"\) is key_\w+, which expires at \S+Z, like the old key\. Store the key now:\nkey_\w+ expires/,
    );
  });

  it('rotate explains an interrupted rotation, and works again after the advice', async () => {
    const { id } = await create('--name', 'R');
    const { created } = JSON.parse((await done('rotate', id, '--json')).stdout);
    const file = join(folder, 'keys.json');
    const { keys: records, ...others } = JSON.parse(await readFile(file, 'utf8'));
    const unchanged = records.map((each: { id: string }) => (each.id === id ? { ...each, expires_at: null } : each));
    await writeFile(file, JSON.stringify({ ...others, keys: unchanged }));
    expect(await refused('rotate', id))
      .to.include(`${id} has the successor ${created.id} but does not expire, because its rotation was interrupted.`)
      .and.include(`run "keys revoke ${created.id}", and rotate ${id} again.`);
    await done('revoke', created.id);
    await done('rotate', id);
  });

  it('create prints the key as soon as it is stored, before services accept it', async () => {
    const slow = join(folder, 'slow.json');
    const store = { use: 'file', options: { path: 'keys.json', pollMs: 4000 } };
    await writeFile(slow, JSON.stringify({ adapter: 'memory', plugins: ['status'], auth: { keys: store } }));
    const child = startProcess(['--config', slow, 'keys', 'create', '--name', 'A'], {}, 'pipe');
    try {
      const [printed] = await once(child.stdout!, 'data');
      expect(isMistyped(String(printed).trim())).to.equal(false);
      expect((await done('list')).stdout).to.include('A');
      expect(child.exitCode).to.equal(null);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  it('tier changes all keys that share a limit, keeps their own limit, and reports that', async () => {
    const first = await create('--name', 'T', '--tier', 'partner');
    const { created: second } = JSON.parse((await done('rotate', first.id, '--json')).stdout);
    const moved = await done('tier', second.id, 'enterprise');
    expect(moved.stderr).to.equal(`${second.id} ("T") has the tier "enterprise".\n`);
    const listed: { id: string; tier: string }[] = JSON.parse((await done('list', '--json')).stdout);
    for (const { id } of [first, second]) expect(listed.find((key) => key.id === id)?.tier).to.equal('enterprise');
    const [, change] = JSON.parse((await done('audit', second.id, '--json')).stdout);
    expect(change).to.deep.include({
      action: 'tier',
      changes: { tier: { from: 'partner', to: 'enterprise' } },
    });
    await done('limit', second.id, '7');
    expect((await done('tier', second.id, 'partner')).stderr).to.contain(
      `It keeps its own limit of 7 requests per minute; to apply the limit of the tier, run "keys limit ${second.id} default".`,
    );
    expect(await refused('tier', second.id, 'partnr')).to.contain('did you mean "partner"?');
    expect(await refused('tier', 'key_none', 'partner')).to.contain('There is no key with the id key_none');
    await done('revoke', second.id);
    expect(await refused('tier', second.id, 'enterprise')).to.contain(`${second.id} is revoked`);
  });

  it('limit rejects a revoked key', async () => {
    const { id } = await create('--name', 'L');
    await done('revoke', id);
    expect(await refused('limit', id, '50')).to.include(`${id} is revoked. Create a new key`);
  });

  it('rotate rejects inactive keys, unknown keys and an invalid overlap', async () => {
    const { id } = await create('--name', 'R');
    expect(await refused('rotate', id, '--overlap', 'soon')).to.include('--overlap: "soon"');
    expect(await refused('rotate', 'key_0000000000')).to.include('There is no key');
    await done('revoke', id);
    expect(await refused('rotate', id)).to.include('is revoked');
  });

  it('create --json accepts tier, limit and expiry', async () => {
    const key = await create('--name', 'B', '--tier', 'partner', '--limit', '1200', '--expires', '2999-01-01');
    expect(key).to.deep.include({
      name: 'B',
      tier: 'partner',
      limit_per_minute: 1200,
      expires_at: '2999-01-01T00:00:00.000Z',
      revoked_at: null,
    });
    expect(hashKey(key.key)).to.equal(JSON.parse(await readFile(join(folder, 'keys.json'), 'utf8')).keys[0].hash);
  });

  it('create uses the first configured tier and its limit by default', async () => {
    expect(await create('--name', 'C')).to.include({ tier: 'enterprise', limit_per_minute: null, expires_at: null });
  });

  const wrong: [args: string[], message: string][] = [
    [['--tier', 'enterprize'], 'There is no tier "enterprize"; did you mean "enterprise"?'],
    [['--tier', 'zzzzzzzzzz'], 'There is no tier "zzzzzzzzzz"; auth.tiers allows enterprise, partner'],
    [['--limit', '0'], 'The limit must be a whole number from 1 to 999,999,999, in requests per minute, not "0".'],
    [['--limit', '1000000000'], 'from 1 to 999,999,999'],
    [['--limit', '1e3'], 'not "1e3".'],
    [['--expires', 'soon'], '--expires: "soon" is neither a date nor a duration'],
    [['--name', ''], '--name must be 1 to 100 characters long'],
    [['--name', 'a\u001b[2J'], 'no control characters'],
    [['--name', `for ${createKey().key}`], '--name must not contain a key.'],
  ];
  for (const [args, message] of wrong) {
    it(`create ${args.map((arg) => JSON.stringify(arg)).join(' ')} is rejected, and creates no key`, async () => {
      expect(await refused('create', ...(args[0] === '--name' ? [] : ['--name', 'D']), ...args)).to.include(message);
      expect((await done('list', '--json')).stdout).to.equal('[]\n');
    });
  }

  it('create without --name reports that it is required', async () => {
    expect((await keys('create')).error?.message).to.include("required option '--name <name>' not specified");
  });

  it('list without keys prints the command that creates a key', async () => {
    const { stdout, stderr } = await done('list');
    expect({ stdout, stderr }).to.deep.equal({
      stdout: '',
      stderr: `There are no keys. To create one: metro-forecast --config ${config} keys create --name NAME\n`,
    });
  });

  it('list shows each key with its state', async () => {
    await create('--name', 'live');
    await create('--name', 'short', '--expires', '1h', '--limit', '5');
    const { id } = await create('--name', 'gone');
    await done('revoke', id);
    const [head, ...rows] = (await done('list')).stdout.trimEnd().split('\n');
    expect(head).to.match(/^ID +NAME +TIER +PER MINUTE +CREATED +LAST USED +STATE$/);
    expect(rows[0]).to.match(/^key_\w{10} +live +enterprise +default +\d{4}-\d\d-\d\d +- +active$/);
    expect(rows[1]).to.match(/ short +enterprise +5 .* active until \S+Z$/);
    expect(rows[2]).to.match(/ gone .* revoked \S+Z$/);
  });

  it('list --json shows no hash', async () => {
    await create('--name', 'E');
    const [key] = JSON.parse((await done('list', '--json')).stdout);
    const times = ['created_at', 'expires_at', 'revoked_at', 'last_used_at'];
    expect(key).to.have.all.keys('id', 'name', 'tier', 'limit_per_minute', ...times);
  });

  it('list shows the last use of a key that services have written', async () => {
    const { id } = await create('--name', 'used');
    await create('--name', 'unused');
    const used = { format: 1, last_used_at: { [id]: '2026-05-01T12:34:56.789Z' } };
    await writeFile(join(folder, 'keys.json.used.json'), JSON.stringify(used));
    const [, first, second] = (await done('list')).stdout.split('\n');
    expect(first).to.match(/ used +enterprise +default +\S+ +2026-05-01T12:34Z +active$/);
    expect(second).to.match(/ unused .* - +active$/);
    const listed = JSON.parse((await done('list', '--json')).stdout);
    expect(listed.map((key: { last_used_at: unknown }) => key.last_used_at)).to.deep.equal([
      '2026-05-01T12:34:56.789Z',
      null,
    ]);
  });

  it('revoke ID a second time keeps the time of the first revocation', async () => {
    const { id } = await create('--name', 'F');
    const first = JSON.parse((await done('revoke', id, '--json')).stdout);
    expect(Date.parse(first.revoked_at)).to.be.closeTo(Date.now(), 60_000);
    expect((await done('revoke', id)).stderr).to.equal(`${id} ("F") was revoked at ${first.revoked_at}.\n`);
  });

  it('limit ID N sets a limit, and limit ID default removes it', async () => {
    const { id } = await create('--name', 'G');
    expect((await done('limit', id, '50')).stderr).to.equal(`${id} ("G") has a limit of 50 requests per minute.\n`);
    expect(JSON.parse((await done('limit', id, 'default', '--json')).stdout).limit_per_minute).to.equal(null);
    expect(await refused('limit', id, 'many')).to.include('not "many"');
  });

  it('revoke and limit suggest the nearest id', async () => {
    const { id } = await create('--name', 'Houston');
    const near = `${id.slice(0, -1)}${id.endsWith('x') ? 'y' : 'x'}`;
    expect(await refused('revoke', near)).to.equal(`There is no key with the id ${near}; did you mean ${id}?`);
    expect(await refused('limit', 'Houston', '5')).to.include(`the name "Houston" belongs to ${id}`);
    expect(await refused('revoke', 'zzz')).to.include('"keys list" shows the ids');
  });

  it('revoke with a key instead of its id does not print the key', async () => {
    const { key } = createKey();
    expect(await refused('revoke', key))
      .to.include('There is no key with this id')
      .and.not.include(key.slice(4, 20));
  });

  it('audit lists every change with time, user and previous values', async () => {
    const { key, id } = await create('--name', 'Team A', '--limit', '600');
    await done('limit', id, '6000');
    await done('limit', id, '6000');
    const { created } = JSON.parse((await done('rotate', id, '--json', '--overlap', '2999-01-01')).stdout);
    await done('revoke', id);
    await done('revoke', id);
    const { stdout } = await done('audit');
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head).to.match(/^TIME +KEY +ACTION +BY +FROM +CHANGES$/);
    const told = lines.map((line) => line.replace(/^\S+Z +/, '').replace(/ +/g, ' '));
    const { host } = JSON.parse((await done('audit', '--json')).stdout)[0];
    const by = `${userInfo().username} ${host}`;
    const [revoked] = JSON.parse((await done('list', '--json')).stdout);
    expect(told.map((line) => line.replace(/ created_at "\S+Z"/, ''))).to.deep.equal([
      `${id} create ${by} name "Team A", tier "enterprise", limit_per_minute 600,`,
      `${id} limit ${by} limit_per_minute 600 -> 6000`,
      `${created.id} rotate ${by} name "Team A", tier "enterprise", limit_per_minute 6000,, shares_limit_of "${id}"`,
      `${id} expire ${by} expires_at null -> "2999-01-01T00:00:00.000Z"`,
      `${id} revoke ${by} revoked_at null -> "${revoked.revoked_at}"`,
    ]);
    expect(stdout).to.not.include(key).and.not.include(hashKey(key)).and.not.include(created.key);
  });

  it('audit --expect rejects an incomplete hash as wrong usage, not as a changed log', async () => {
    const { error } = await keys('audit', '--expect', '0'.repeat(63));
    expect(error?.message).to.include('It must be a hash of 64 hexadecimal digits.');
  });

  it('audit --verify prints the newest hash, and exits with 1 if a line or a key was changed by hand', async () => {
    const { id } = await create('--name', 'A');
    await done('limit', id, '5');
    const [, { hash }] = JSON.parse((await done('audit', '--json')).stdout);
    const { stdout } = await done('audit', '--verify');
    expect(stdout).to.equal(`The audit log of keys is complete: 2 entries. The hash of the newest entry is ${hash}.\n`);
    await done('limit', id, '6');
    await done('audit', '--verify', '--expect', hash);
    const other = '0'.repeat(64);
    expect(await refused('audit', '--expect', other)).to.include(`no entry has the hash ${other}`);
    const path = join(folder, 'keys.json.audit.ndjson');
    const content = await readFile(path, 'utf8');
    await writeFile(path, content.replace('"to":5', '"to":4'));
    expect(await refused('audit', '--verify')).to.include('line 2 was changed after it was written');
    await writeFile(path, content);
    const keys = join(folder, 'keys.json');
    await writeFile(keys, (await readFile(keys, 'utf8')).replace('"limit_per_minute":6', '"limit_per_minute":60'));
    expect(await refused('audit', '--verify')).to.include(
      `${id} (limit_per_minute) was edited by hand: it has no entry`,
    );
    expect(await refused('audit', id, '--verify')).to.include('Omit the id');
  });

  it('audit ID lists the changes to one key, even after the key was removed', async () => {
    const { id } = await create('--name', 'A');
    await create('--name', 'B');
    await done('limit', id, '5');
    const audit = async () => JSON.parse((await done('audit', id, '--json')).stdout);
    const [created, limited, ...more] = await audit();
    expect(more).to.deep.equal([]);
    expect(created).to.include({ action: 'create', key: id, by: userInfo().username });
    expect(Date.parse(limited.time)).to.be.closeTo(Date.now(), 60_000);
    expect(limited.changes).to.deep.equal({ limit_per_minute: { from: null, to: 5 } });
    await writeFile(join(folder, 'keys.json'), '{"format": 1, "keys": []}');
    expect(await audit()).to.deep.equal([created, limited]);
  });

  it('audit reports that there are no entries, and suggests the nearest id', async () => {
    const { id } = await create('--name', 'A');
    expect(await refused('audit', 'A')).to.include(`the name "A" belongs to ${id}`);
    await rm(join(folder, 'keys.json.audit.ndjson'));
    expect((await done('audit', id)).stderr).to.equal(`The audit log contains no changes to ${id}.\n`);
    expect((await done('audit')).stderr).to.equal('The audit log contains no changes.\n');
  });

  it('create and rotate use the newest pepper and store its version', async () => {
    const plain = await create('--name', 'A');
    expect(plain).to.not.have.property('pepper');
    env = { METRO__AUTH__PEPPERS__1: '~'.repeat(32) };
    const first = await create('--name', 'B');
    expect(first.pepper).to.equal(1);
    env['METRO__AUTH__PEPPERS__2'] = '%'.repeat(32);
    const { created } = JSON.parse((await done('rotate', first.id, '--json')).stdout);
    expect(created).to.include({ pepper: 2, shares_limit_of: first.id });
    const file = await readFile(join(folder, 'keys.json'), 'utf8');
    const { keys: kept } = JSON.parse(file);
    expect(kept.map(({ hash }: { hash: string }) => hash)).to.deep.equal([
      hashKey(plain.key),
      createHmac('sha256', '~'.repeat(32)).update(first.key).digest('hex'),
      createHmac('sha256', '%'.repeat(32)).update(created.key).digest('hex'),
    ]);
    for (const command of ['list', 'audit']) {
      const { stdout, stderr } = await done(command);
      expect(`${stdout}${stderr}${file}`).to.not.include('~~~~').and.not.include('%%%%');
    }
  });

  it('list names the keys whose pepper is not configured, with advice', async () => {
    env = { METRO__AUTH__PEPPERS__2: '2'.repeat(32) };
    const { id } = await create('--name', 'A');
    expect((await done('list')).stderr).to.equal('');
    env = {};
    const { stdout, stderr } = await done('list');
    expect(stdout).to.match(/ rejected: pepper 2 is missing\n$/);
    expect(stderr).to.equal(
      `auth.peppers has no version 2, so these keys are rejected: ${id}. Set it to its previous value, or create new keys for their owners.\n`,
    );
    await done('revoke', id);
    expect((await done('list')).stderr).to.equal('');
  });

  it('explains that the embedded configuration stores no keys, and how to create a configuration that does', async () => {
    const { error } = await runCommand(register, ['keys', 'create', '--name', 'H']);
    expect(error).to.be.instanceOf(OperatorError);
    expect(error?.message)
      .to.include('each start prints a new demo key')
      .and.include('metro-forecast init metro-forecast.json')
      .and.include('metro-forecast --config metro-forecast.json keys create --name NAME');
  });

  it('explains the same for a configuration with keys in memory', async () => {
    const { error } = await runCommand(register, ['keys', 'list', '-c', config], { METRO__AUTH__KEYS: 'memory' });
    expect(error?.message).to.include('auth.keys is "memory"').and.include('"use": "file"');
  });

  it('rejects an invalid key file with the reason', async () => {
    await writeFile(join(folder, 'keys.json'), '{"format": 1}');
    expect(await refused('list')).to.include('keys: is missing; it must be a list');
  });
});

describe('metro-forecast keys usage', () => {
  let folder: string;
  let redis: RedisConnection;
  let limiter: RedisLimiter;

  const write = (name: string, more: object) =>
    writeFile(
      join(folder, name),
      JSON.stringify({
        adapter: { use: 'memory' },
        plugins: ['status'],
        auth: { tiers: { free: { requestsPerDay: 5 } }, keys: { use: 'file', options: { path: 'keys.json' } } },
        ...more,
      }),
    );

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cli-usage-'));
    const { url } = await redisForTests();
    const keyPrefix = `${uniqueName('usage')}:`;
    await write('own.json', { redis: { url, keyPrefix } });
    await write('alone.json', {});
    await write('away.json', { redis: { url: 'redis://127.0.0.1:1' } });
    await write('uncounted.json', { auth: { keys: { use: 'file', options: { path: 'keys.json' } } } });
    redis = connectRedis({ url, keyPrefix, timeoutMs: 5000, connectTimeoutMs: 5000 }, keptLogger());
    await redis.opened;
    limiter = new RedisLimiter({ redis, replicas: 1, countsUsage: true, logger: keptLogger() });
  });
  after(async () => {
    await limiter.close();
    redis.close();
    await rm(folder, { recursive: true });
  });

  const keys = (name: string, ...args: string[]) =>
    runCommand(register, ['keys', ...args, '--config', join(folder, name)], {});
  const create = async () => JSON.parse((await keys('own.json', 'create', '--json', '--name', 'Team A')).stdout);
  const ask = async (subject: string, times: number) => {
    for (let i = 0; i < times; i++) await limiter.take(subject, 60, { perDay: 5, perMonth: null });
  };

  it('prints the requests of each key today and this month, or the requests of one key per day', async () => {
    const used = await create();
    const idle = await create();
    expect(used.tier).to.equal('free');
    await ask(`key:${used.id}`, 7);
    await delay(1100);
    const today = new Date().toISOString().slice(0, 10);
    const { stdout } = await keys('own.json', 'usage');
    expect(stdout).to.match(/^ID +NAME +TIER +TODAY +THIS MONTH +REJECTED TODAY +REJECTED THIS MONTH +SHARED WITH\n/);
    expect(stdout).to.match(new RegExp(`${used.id} +Team A +free +5 +5 +2 +2 +-\n`));
    expect(stdout).to.match(new RegExp(`${idle.id} +Team A +free +0 +0 +0 +0 +-\n`));
    expect((await keys('own.json', 'usage', used.id)).stdout).to.match(
      new RegExp(`^DATE +REQUESTS +REJECTED\n${today} +5 +2\n$`),
    );
    const { stdout: json } = await keys('own.json', 'usage', used.id, '--json');
    expect(JSON.parse(json)).to.deep.equal([
      { id: used.id, name: 'Team A', tier: 'free', shares_with: [], data: [{ date: today, requests: 5, refused: 2 }] },
    ]);
  });

  it('prints the shared usage of a rotated key and its successor once, under the active key', async () => {
    const old = await create();
    const rotated = JSON.parse((await keys('own.json', 'rotate', old.id, '--json', '--overlap', '1h')).stdout);
    const { id } = rotated.created;
    await ask(`key:${old.id}`, 6);
    await delay(1100);
    const listed = JSON.parse((await keys('own.json', 'usage', '--json')).stdout);
    const found = listed.filter((each: { id: string }) => [old.id, id].includes(each.id));
    expect(found).to.have.length(1);
    expect(found[0]).to.deep.include({ id, shares_with: [old.id] });
    expect(found[0].data[0]).to.include({ requests: 5, refused: 1 });
    const { stdout } = await keys('own.json', 'usage');
    expect(stdout).to.match(new RegExp(`${id} +Team A +free +5 +5 +1 +1 +${old.id}\n`));
    expect(stdout).to.not.match(new RegExp(`^${old.id}`, 'm'));

    const ofOld = await keys('own.json', 'usage', old.id);
    expect(ofOld.stdout).to.match(/ +5 +1\n$/);
    expect(ofOld.stderr).to.equal(`The numbers include ${old.id}, ${id}, which share a limit.\n`);
    expect(JSON.parse((await keys('own.json', 'usage', old.id, '--json')).stdout)[0].shares_with).to.deep.equal([id]);

    await keys('own.json', 'revoke', id);
    const [after] = JSON.parse((await keys('own.json', 'usage', '--json')).stdout).filter((each: { id: string }) =>
      [old.id, id].includes(each.id),
    );
    expect(after, 'the key that is still active').to.deep.include({ id: old.id, shares_with: [id] });
  });

  it('reports why Redis cannot be used, and what to do', async () => {
    await create();
    const { error } = await keys('away.json', 'usage');
    expect((error as Error).message).to.equal(
      'Redis is unreachable: connect ECONNREFUSED 127.0.0.1:1\n  - Start Redis, or correct the address in redis.url (REDIS_URL), redis.sentinel or redis.cluster.',
    );
  });

  it('explains where to find usage without Redis', async () => {
    await create();
    expect(String((await keys('alone.json', 'usage')).error)).to.include('GET /usage');
    expect(String((await keys('uncounted.json', 'usage')).error)).to.include('auth.tiers');
    expect(String((await keys('own.json', 'usage', 'key_none')).error)).to.include('There is no key');
  });

  it('a running service accepts a new key and a rotated key as soon as the command exits', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'new-key-'));
    const path = join(folder, 'config.json');
    const settings = {
      server: { port: 0 },
      plugins: ['markets'],
      adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
      auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
      log: { level: 'silent' },
    };
    await writeFile(path, JSON.stringify(settings));
    const app = await createApp(await loadConfig({ path, env: {} }));
    try {
      const { url } = await app.listen();
      const accepts = async (key: string) =>
        (await request(`${url}/markets`, { headers: { Authorization: `Bearer ${key}` } })).status;
      const keys = async (...args: string[]) =>
        JSON.parse((await runCommand(register, ['--config', path, 'keys', ...args, '--json'])).stdout);
      const { id, key } = await keys('create', '--name', 'a');
      expect(await accepts(key)).to.equal(200);
      const { created } = await keys('rotate', id, '--overlap', '15m');
      expect(await accepts(created.key)).to.equal(200);
    } finally {
      await app.close();
      await rm(folder, { recursive: true, force: true });
    }
  }).timeout(20_000);
});
