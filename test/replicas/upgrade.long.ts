/** Replicas are upgraded from the previous version and rolled back, one at a time and under load. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { runNode } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { LoadClient, longest, sendSteadily } from '../support/load-client.js';
import { startNginx } from '../support/nginx.js';
import { previousVersion } from '../support/previous-version.js';
import { type Server, startServer } from '../support/server-process.js';
import { startMongo, startRedis } from '../support/services.js';
import { skip } from '../support/skip.js';
import { until } from '../support/until.js';

const REPLICAS = 3;
const PER_SECOND = 200;
const PATHS = ['/markets', '/markets/12060/history', '/forecasts', '/series', '/observations?series_id=metro_hpi'];

type Version = string;

const programOf = (version: Version): string => join(version, 'cli/metro-forecast.js');

const sampleOf = (version: Version): string =>
  ['plugins/metro/dataset', 'metro/dataset'].map((name) => join(version, name)).find((path) => existsSync(path))!;

const nameOf = (dataset: string): string => JSON.parse(readFileSync(join(dataset, 'manifest.json'), 'utf8')).version;

interface Check {
  readonly state: string;
  readonly message: string;
  readonly advice?: readonly string[];
}

describe('an upgrade from the previous version', function () {
  this.timeout(600_000);
  const current: Version = packageRoot;
  let previous: Version;
  /**
   * True if the previous version is a release. An unreleased build stores usage in Redis in a different format, and
   * uses different keys for backtest rows. With such a build, each version counts only its own requests and serves only
   * its own data.
   */
  let isRelease: boolean;
  let folder: string;
  let env: Record<string, string>;
  const running: Server[] = [];

  const start = async (server: Promise<Server>): Promise<Server> => {
    running.push(await server);
    return server;
  };
  const command = (version: Version, ...args: readonly string[]) =>
    runNode([programOf(version), '--config', join(folder, 'api.json'), ...args], env);
  const json = async (version: Version, ...args: readonly string[]) =>
    JSON.parse(await command(version, ...args, '--json'));
  const errorsOf = async (version: Version): Promise<readonly string[]> => {
    const output = await command(version, 'doctor', '--json').catch((error: { stdout: string }) => error.stdout);
    const checks: readonly Check[] = JSON.parse(output).checks;
    return checks
      .filter(({ state }) => state === 'failed')
      .map(({ message, advice = [] }) => [message, ...advice].join('\n'));
  };
  const verified = async (version: Version) => {
    const audits = [
      await json(version, 'snapshots', 'audit', '--verify'),
      await json(version, 'keys', 'audit', '--verify'),
    ];
    for (const { faults } of audits) expect(faults).to.deep.equal([]);
    return audits.map(({ head }) => head);
  };

  before(async function () {
    const built = await previousVersion();
    if ('missing' in built) return skip(this, built.missing);
    previous = built.folder;
    isRelease = built.isRelease;
    folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
  });

  afterEach(async () => {
    for (const server of running.splice(0).reverse()) await server.stop();
  });

  after(async () => {
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('and a rollback fail no request, and keep data, keys, quotas and audits', async () => {
    const [redis, mongo] = [await start(startRedis()), await start(startMongo())];
    env = {
      REDIS_URL: redis.url,
      MONGODB_URI: mongo.url,
      METRO__AUTH__TIERS: '{"enterprise":{"requestsPerDay":100000000}}',
      METRO__SERVER__OVERLOAD: 'null',
      METRO__LOG__LEVEL: 'warn',
    };
    // Both versions use the configuration file of the previous version.
    const config = await readFile(join(previous, 'config/replicas.json'));
    await writeFile(join(folder, 'api.json'), config);
    await command(previous, 'publish', sampleOf(previous));
    const createKey = async (version: Version, name: string) =>
      (await command(version, 'keys', 'create', '--name', name, '--limit', '10000000')).trim();
    const key = await createKey(previous, 'load');
    const counted = await createKey(previous, 'counted');

    const programs = Array.from({ length: REPLICAS }, () => previous);
    const replicas: Server[] = [];
    for (let i = 0; i < REPLICAS; i++) {
      replicas.push(
        await start(
          startServer({
            name: 'upgraded',
            program: process.execPath,
            args: () => [programOf(programs[i]!), '--config', join(folder, 'api.json'), 'start'],
            env: (port) => ({ ...env, PORT: String(port) }),
            url: (port) => `http://127.0.0.1:${port}/api/v1`,
            ready: async (port) => {
              const { status } = await request(`http://127.0.0.1:${port}/api/v1/ready`);
              if (status !== 200) throw new Error(`The replica responds with ${status}.`);
            },
          }),
        ),
      );
    }
    const nginx = await start(startNginx(replicas.map(({ port }) => port)));

    const get = (server: Server, path: string, token: string) =>
      request(`${server.url}${path}`, { headers: { Authorization: `Bearer ${token}` } });
    const untilServed = async (token: string, dataOf: (program: Version) => string) => {
      for (const [i, replica] of replicas.entries()) {
        await until(async () => {
          const { status, headers } = await get(replica, '/markets', token);
          return status === 200 && headers['snapshot-version'] === dataOf(programs[i]!) ? true : undefined;
        });
      }
    };
    const requests = new Map<Version, number>();
    /**
     * Sends requests with the key `counted`. Afterwards, the usage of the key must equal the number of all requests so
     * far.
     */
    const expectUsage = async (version: Version) => {
      const counter = isRelease ? current : version;
      for (const replica of [...replicas, ...replicas]) {
        expect((await get(replica, '/markets', counted)).status).to.equal(200);
        requests.set(counter, (requests.get(counter) ?? 0) + 1);
      }
      const { id } = (await json(version, 'keys', 'list')).find(({ name }: { name: string }) => name === 'counted');
      let used = -1;
      // Prefetched permits count until they are returned.
      for (let attempt = 0; attempt < 20 && used !== requests.get(counter); attempt++) {
        const [{ data }] = await json(version, 'keys', 'usage', id);
        used = data.reduce((sum: number, day: { requests: number }) => sum + day.requests, 0);
      }
      expect(used).to.equal(requests.get(counter));
    };
    const replace = async (i: number, version: Version) => {
      programs[i] = version;
      await replicas[i]!.kill('SIGTERM');
      await replicas[i]!.restart();
    };
    const underLoad = async (work: () => Promise<void>) => {
      let sent = 0;
      const client = new LoadClient(`${nginx.url}/api/v1`, key, 32);
      const load = sendSteadily(client, PER_SECOND, () => PATHS[sent++ % PATHS.length]!);
      await work().finally(() => load.stop());
      const answers = await load.stop();
      client.close();
      const failed = answers.filter(({ status }) => status !== 200);
      console.log(`      ${failed.length} of ${answers.length} requests failed, ${longest(answers)} ms at most`);
      expect(failed.map(({ path, status, body }) => ({ path, status, body }))).to.deep.equal([]);
      expect(answers.length).to.be.above(PER_SECOND);
    };

    const [oldName, newName] = [nameOf(sampleOf(previous)), nameOf(sampleOf(current))];
    const oldData = () => oldName;
    const newData = (program: Version) => (isRelease || program === current ? newName : oldName);
    await untilServed(key, oldData);
    await expectUsage(previous);
    const before = await verified(previous);
    expect(await verified(current)).to.deep.equal(before);
    let added = '';
    await underLoad(async () => {
      // If the newer version cannot serve the data, its error must suggest a command.
      for (const error of await errorsOf(current)) expect(error).to.match(/publish/);
      await command(current, 'publish', sampleOf(current));
      // Running replicas switch to the new publication. An unreleased build rejects it and serves its current data.
      const errors = await errorsOf(previous);
      expect(errors.length === 0).to.equal(isRelease);
      for (const error of errors) expect(error).to.match(/publish/);
      await untilServed(key, newData);
      await replace(0, current);
      added = await createKey(current, 'added');
      await untilServed(added, newData);
      for (let i = 1; i < REPLICAS; i++) await replace(i, current);
    });
    await untilServed(key, () => newName);
    await expectUsage(current);
    let after: readonly unknown[] = [];
    const { id } = (await json(current, 'keys', 'list')).find(({ name }: { name: string }) => name === 'added');
    await underLoad(async () => {
      // An unreleased build would not become ready with the new data. Newer replicas keep serving their current data.
      if (!isRelease) await command(previous, 'snapshots', 'activate', oldName);
      after = await verified(current);
      await replace(0, previous);
      await untilServed(added, newData);
      await command(current, 'keys', 'revoke', id);
      for (const replica of replicas) {
        await until(async () => ((await get(replica, '/markets', added)).status === 401 ? true : undefined));
      }
      for (let i = 1; i < REPLICAS; i++) await replace(i, previous);
    });
    await untilServed(key, newData);
    await expectUsage(previous);
    const [data, keys] = await verified(previous);
    expect([data, keys !== after[1]]).to.deep.equal([after[0], true]);
    if (isRelease) await command(previous, 'snapshots', 'activate', oldName);
    await untilServed(await createKey(previous, 'last'), oldData);
    await verified(previous);
  });

  it('and a rollback keep the dataset directory, the key file and their audits', async () => {
    env = {};
    const data = join(folder, 'data');
    await mkdir(data);
    const config = {
      adapter: { use: 'json', options: { path: 'data' } },
      plugins: ['markets', 'forecasts', 'observations', 'status'],
      auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
    };
    await writeFile(join(folder, 'api.json'), JSON.stringify(config));
    for (const [i, version] of [previous, current, previous].entries()) {
      await command(version, 'publish', sampleOf(version));
      await command(version, 'keys', 'create', '--name', `key ${i}`);
      expect(await errorsOf(version)).to.deep.equal([]);
      for (const reader of [previous, current]) {
        await verified(reader);
        expect(await json(reader, 'keys', 'list')).to.have.length(i + 1);
        expect(await json(reader, 'snapshots', 'audit')).to.have.length(i + 1);
        for (const error of await errorsOf(reader)) expect(error).to.match(/is not valid|publish/);
      }
    }
  });
});
