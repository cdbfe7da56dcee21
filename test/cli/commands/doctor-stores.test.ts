import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { register } from '../../../cli/commands/doctor.js';
import { register as registerPublish } from '../../../cli/commands/publish.js';
import { packageRoot } from '../../../core/util/package.js';
import { runCommand } from '../../support/run-command.js';
import { freePort } from '../../support/server-process.js';
import { type Server, startMongo, startRedis } from '../../support/services.js';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly advice?: readonly string[];
}

const QUOTAS = { tiers: { free: { requestsPerDay: 10 } }, anonymous: 'free', keys: { use: 'memory' } };
const DATASET = join(packageRoot, 'plugins/metro/dataset');

describe('doctor and the stores', () => {
  let folder: string;
  let config: string;
  let servers: { stop(): Promise<unknown> }[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-stores-'));
    config = join(folder, 'config.json');
    servers = [];
  });
  afterEach(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(folder, { recursive: true, force: true });
  });

  const configure = async (more: object) => {
    const adapter = { use: 'json', options: { path: DATASET } };
    const server = { host: '127.0.0.1', port: await freePort() };
    const plugins = ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status'];
    await writeFile(config, JSON.stringify({ server, adapter, plugins, auth: { keys: { use: 'memory' } }, ...more }));
  };
  const find = async (check: string): Promise<Finding> => {
    const before = process.exitCode;
    const { stdout, error } = await runCommand(register, ['--config', config, 'doctor', '--json']);
    process.exitCode = before;
    if (error) throw error;
    const { checks } = JSON.parse(stdout) as { checks: Finding[] };
    return checks.find((each) => each.check === check)!;
  };
  const redisFinding = async (url: string, more: object = {}): Promise<Finding> => {
    await configure({ redis: { url }, ...more });
    return find('redis');
  };
  const redis = async (...args: string[]): Promise<Server> => {
    const server = await startRedis({ args });
    servers.push(server);
    return server;
  };
  const urlFor = (user: string, { port }: Server) => `redis://${user}@127.0.0.1:${port}`;

  const expectFailure = (found: Finding, message: RegExp, advice = /^/) => {
    expect(found.state).to.equal('failed');
    expect(found.message).to.match(message);
    expect((found.advice ?? []).join('\n')).to.match(advice);
  };

  describe('Redis', () => {
    it('the documented rights suffice, and each documented command is needed', async () => {
      const guide = await readFile(join(packageRoot, 'docs/guides/redis.md'), 'utf8');
      const [, rights] = /^ACL SETUSER metro on >PASSWORD (.*)$/m.exec(guide)!;
      const server = await redis();
      const admin = new Redis(server.url);
      try {
        const allow = (words: readonly string[]) =>
          admin.call('ACL', 'SETUSER', 'metro', 'reset', 'on', '>p', ...words);
        const words = rights!.split(' ');
        await allow(words);
        expect(await redisFinding(urlFor('metro:p', server))).to.include({ state: 'ok' });
        expect(await admin.keys('*')).to.deep.equal([]);
        // The service works without the permissions for `info` and `ping`. It needs `eval` only after a restart of
        // Redis, `hget` only for `keys usage`, and `select` only for databases other than the default.
        const optional = ['~api:*', '+info', '+ping', '+eval', '+hget', '+select'];
        for (const word of words.filter((each) => !optional.includes(each))) {
          await allow(words.filter((each) => each !== word));
          expectFailure(await redisFinding(urlFor('metro:p', server)), /^The Redis user lacks a permission: /, /ACL/);
        }
        await allow(['~other:*', '+@all']);
        const found = await redisFinding(urlFor('metro:p', server));
        expectFailure(found, /lacks a permission: .*keys/, /docs\/guides\/redis.md/);
        expect(found.advice![0]).to.contain(`ACL SETUSER NAME ${rights}`);
      } finally {
        admin.disconnect();
      }
    }).timeout(60_000);

    it('reports that Redis is out of memory, and that it is a read-only replica', async () => {
      const full = await redis('--maxmemory', '1mb');
      expectFailure(await redisFinding(full.url), /^Redis is out of memory: .*OOM/, /Raise Redis's maxmemory/);
      const replica = await redis('--replicaof', '127.0.0.1', String(full.port));
      expectFailure(await redisFinding(replica.url), /^This Redis is a read-only replica/, /primary/);
    });

    it('reports missing and wrong passwords, and a database that does not exist', async () => {
      const server = await redis();
      const admin = new Redis(server.url);
      await admin.config('SET', 'requirepass', 'secret');
      admin.disconnect();
      expectFailure(await redisFinding(server.url), /^Redis requires a password: .*NOAUTH/, /REDIS_URL/);
      expectFailure(
        await redisFinding(urlFor(':wrong', server)),
        /^Redis rejects the user or the password/,
        /REDIS_URL/,
      );
      expectFailure(await redisFinding(`${urlFor(':secret', server)}/99`), /no database with this number/, /redis.url/);
      expect(await redisFinding(`${urlFor(':secret', server)}/9`)).to.include({ state: 'ok' });
    });

    it('reports wrong addresses: a host without a name, another program, and a port without TLS', async () => {
      expectFailure(
        await redisFinding('redis://nowhere.invalid'),
        /^The Redis host name cannot be resolved/,
        /REDIS_URL/,
      );
      const web = createHttpServer((_request, response) => response.end()).listen(0, '127.0.0.1');
      await once(web, 'listening');
      servers.push({ stop: async () => web.close() });
      const { port } = web.address() as AddressInfo;
      expectFailure(await redisFinding(`redis://127.0.0.1:${port}`), /^The server is not Redis/, /address/);
      const url = (await redis()).url.replace('redis:', 'rediss:');
      expectFailure(await redisFinding(url), /^Redis does not (use TLS|respond)/, /use redis:\/\//);
    });

    it('warns about a policy that evicts counts, and about quotas that a restart loses', async () => {
      const lru = await redis('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
      const evicting = await redisFinding(lru.url);
      expect(evicting.state).to.equal('warning');
      expect(evicting.advice!.join()).to.match(/maxmemory-policy is allkeys-lru.*noeviction/);
      const volatile = await redisFinding((await redis()).url, { auth: QUOTAS });
      expect(volatile.advice).to.deep.equal([
        'Redis does not persist its data, so a restart resets all quotas. Set appendonly to yes.',
      ]);
      const durable = await redis('--appendonly', 'yes');
      expect((await redisFinding(durable.url, { auth: QUOTAS })).state).to.equal('ok');
      await configure({ auth: QUOTAS });
      expect((await find('redis')).advice!.join()).to.match(/a restart resets the quotas/);
    });
  });

  describe('MongoDB with users', () => {
    const mongo = async () => {
      const server = await startMongo({ replicaSet: false, args: ['--auth'] });
      servers.push(server);
      const admin = new MongoClient(server.url);
      try {
        const users = admin.db('admin');
        await users.command({ createUser: 'root', pwd: 'p', roles: ['root'] });
        await admin.close();
        const root = new MongoClient(`mongodb://root:p@127.0.0.1:${server.port}/?directConnection=true`);
        for (const role of ['read', 'readWrite']) {
          await root.db('admin').command({ createUser: role, pwd: 'p', roles: [{ role, db: 'metro' }] });
        }
        await root.close();
      } finally {
        await admin.close();
      }
      return (user: string) => `mongodb://${user}127.0.0.1:${server.port}/metro?directConnection=true&authSource=admin`;
    };
    const use = (uri: string) => configure({ adapter: { use: 'mongo', options: { uri } } });

    it('readWrite suffices, read does not, and a missing or wrong password is reported as such', async () => {
      const uri = await mongo();
      await use(uri('readWrite:p@'));
      const { error } = await runCommand(registerPublish, ['--config', config, 'publish', DATASET]);
      expect(error).to.equal(undefined);
      expect(await find('storage')).to.include({ state: 'ok' });
      await use(uri('read:p@'));
      const reader = await find('storage');
      expectFailure(reader, /not authorized on metro to execute command.*role readWrite/);
      expect((reader.advice ?? []).join()).to.not.contain('publish');
      await use(uri(''));
      expect((await find('storage')).message).to.match(/requires authentication/);
      await use(uri('readWrite:wrong@'));
      expect((await find('storage')).message).to.match(/Authentication failed; correct the user, the password/);
      const refused = await runCommand(registerPublish, ['--config', config, 'publish', DATASET]);
      expect(refused.error!.message).to.match(/Authentication failed/);
    }).timeout(60_000);

    it('reports a wrong replicaSet and a misspelt parameter', async () => {
      const server = await startMongo({ replicaSet: false });
      servers.push(server);
      const uri = `mongodb://127.0.0.1:${server.port}/`;
      await use(`${uri}?replicaSet=other`);
      expect((await find('storage')).message).to.match(/belongs to the replica set "other"; correct replicaSet/);
      await use(`${uri}?replicaSets=rs0`);
      const { advice } = await find('configuration');
      expect(advice!.join())
        .to.match(/option replicasets is not supported/)
        .and.not.match(/percent/);
      await use('mongodb://user:pa?replicaSets=secret@127.0.0.1/');
      expect((await find('configuration')).advice!.join()).to.not.contain('secret');
    });

    it('a command fails if MongoDB refuses connections', async () => {
      await use(`mongodb://127.0.0.1:${await freePort()}/metro`);
      const { error } = await runCommand(registerPublish, ['--config', config, 'publish', DATASET]);
      expect(error!.message).to.match(/ECONNREFUSED/);
    });
  });
});
