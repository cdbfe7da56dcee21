import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from 'chai';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { startMongo, startRedis } from './services.js';
import { until } from './until.js';

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const folderOf = (pid: number): string | undefined =>
  readdirSync(tmpdir())
    .filter((name) => name.startsWith('metro-forecast-redis-'))
    .map((name) => join(tmpdir(), name))
    .find((folder) => {
      try {
        return Number(readFileSync(join(folder, 'pid'), 'utf8')) === pid;
      } catch {
        return false;
      }
    });

describe('services for tests', () => {
  it('startRedis() starts a server that can be killed and restarted on its port, and stop() removes it', async () => {
    const server = await startRedis();
    const before = server.pid;
    await server.kill();
    assert.isFalse(runs(before));
    await server.restart();
    assert.notEqual(server.pid, before);
    const redis = new Redis(server.url);
    assert.equal(await redis.ping(), 'PONG');
    redis.disconnect();
    await server.stop();
    await until(() => !runs(server.pid), { withinMs: 5000 });
  });

  it('startMongo() starts a replica set that accepts writes with majority concern', async () => {
    const server = await startMongo();
    const client = new MongoClient(server.url);
    await client
      .db('test')
      .collection('t')
      .insertOne({ a: 1 }, { writeConcern: { w: 'majority' } });
    assert.equal(await client.db('test').collection('t').countDocuments(), 1);
    await client.close();
    await server.stop();
    await until(() => !runs(server.pid), { withinMs: 5000 });
  });

  it('a process that is killed with SIGKILL leaves neither its server nor its folder', async () => {
    const module = join(fileURLToPath(import.meta.url), '..', 'services.js');
    const source = `const { startRedis } = await import(${JSON.stringify(module)});
      console.log((await startRedis()).pid); setInterval(() => {}, 1e6);`;
    const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: 'pipe' });
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    const pid = Number(line);
    const folder = folderOf(pid);
    assert.isTrue(runs(pid));
    assert.isDefined(folder);
    child.kill('SIGKILL');
    await until(() => !runs(pid) && !existsSync(folder!), { withinMs: 5000 });
  });
});
