/** Tests that a backup which is restored on empty servers serves the same bytes as the original service. */
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { BSON, type CreateIndexesOptions, type IndexSpecification, MongoClient } from 'mongodb';
import { register as registerKeys } from '../../cli/commands/keys.js';
import { register as registerPublish } from '../../cli/commands/publish.js';
import { packageRoot } from '../../core/util/package.js';
import { request } from '../support/http-client.js';
import { runCommand } from '../support/run-command.js';
import { startServer } from '../support/server-process.js';
import { type Server, startMongo } from '../support/services.js';

const DATABASE = 'dataset';
const PEPPER = 'p'.repeat(40);
const PATHS = [
  ...['/markets', '/markets?format=csv', '/markets/26420', '/markets/26420/history', '/markets/26420/forecast-track'],
  ...['/forecasts', '/forecast-runs', '/forecast-backtest', '/movers', '/signals', '/series', '/vintages', '/areas'],
  ...['/observations?series_id=metro_hpi', '/markets?as_of=2026-01-01', '/markets/00000', '/openapi.json'],
];

/** The `Last-Modified` of these paths is the start of the service if that is later than the publication. */
const ABOUT_THE_SERVICE = new Set(['/vintages', '/openapi.json']);

/** Writes the documents and indexes of each collection to files, as `mongodump` does. */
const dump = async (uri: string, folder: string): Promise<void> => {
  const client = new MongoClient(uri);
  try {
    const db = client.db(DATABASE);
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
      const documents = await db.collection(name).find({}, { raw: true }).toArray();
      const indexes = await db.collection(name).indexes();
      await writeFile(join(folder, `${name}.bson`), Buffer.concat(documents as unknown as Buffer[]));
      await writeFile(join(folder, `${name}.indexes`), BSON.serialize({ indexes }));
    }
    const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
    await writeFile(join(folder, 'collections.json'), JSON.stringify(names));
  } finally {
    await client.close();
  }
};

const restore = async (uri: string, folder: string): Promise<void> => {
  const client = new MongoClient(uri);
  try {
    const db = client.db(DATABASE);
    for (const name of JSON.parse(await readFile(join(folder, 'collections.json'), 'utf8')) as string[]) {
      const bytes = await readFile(join(folder, `${name}.bson`));
      const documents: BSON.Document[] = [];
      for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at))
        documents.push(BSON.deserialize(bytes.subarray(at, at + bytes.readInt32LE(at)), { promoteValues: false }));
      await db.createCollection(name);
      if (documents.length > 0) await db.collection(name).insertMany(documents);
      const { indexes } = BSON.deserialize(await readFile(join(folder, `${name}.indexes`)));
      for (const { key, v: _, ...options } of indexes as { key: IndexSpecification; v: number }[])
        await db.collection(name).createIndex(key, options as CreateIndexesOptions);
    }
  } finally {
    await client.close();
  }
};

for (const store of ['file', 'mongo'] as const) {
  describe(`a backup of MongoDB, the configuration and keys in the store ${store}`, function () {
    this.timeout(240_000);
    let folder: string;
    const running: Server[] = [];
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'restore-'));
    });
    after(async () => {
      for (const each of running) await each.stop();
      await rm(folder, { recursive: true });
    });

    const start = async (home: string): Promise<{ mongo: Server; env: Record<string, string>; config: string }> => {
      const mongo = await startMongo();
      running.push(mongo);
      return {
        mongo,
        config: join(home, 'api.json'),
        env: { MONGODB_URI: mongo.url, METRO__AUTH__PEPPERS__1: PEPPER },
      };
    };
    const serve = async (config: string, env: Record<string, string>): Promise<Server> => {
      const server = await startServer({
        name: 'restored',
        program: process.execPath,
        args: () => [join(packageRoot, 'cli/metro-forecast.js'), '--config', config, 'start'],
        env: (port) => ({ ...env, PORT: String(port) }),
        url: (port) => `http://127.0.0.1:${port}/api/v1`,
        ready: async (port) => {
          if ((await request(`http://127.0.0.1:${port}/api/v1/ready`)).status !== 200) throw new Error('not ready');
        },
      });
      running.push(server);
      return server;
    };
    const keys = async (config: string, env: Record<string, string>, ...args: string[]) => {
      const { stdout, error } = await runCommand(registerKeys, ['--config', config, 'keys', ...args], env);
      if (error) throw error;
      return stdout;
    };
    /** Resolves with the status, the content headers and a digest of the body for every path and key. */
    const responses = async ({ url }: Server, tokens: readonly string[]) => {
      const found: unknown[] = [];
      for (const token of tokens) {
        for (const path of PATHS) {
          const { status, headers, text } = await request(`${url}${path}`, {
            headers: { Authorization: `Bearer ${token}` },
          });
          const names = ['content-type', 'etag', 'cache-control'];
          if (!ABOUT_THE_SERVICE.has(path)) names.push('last-modified');
          const described = names.map((name) => headers[name]);
          found.push([path, status, ...described, createHash('sha256').update(text).digest('hex')]);
        }
      }
      return found;
    };

    it('serves the same responses to the same keys after a restore, with the same audit log', async () => {
      const [home, backup, other] = ['home', 'backup', 'other'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      for (const each of [home, backup, other]) await mkdir(each);
      const first = await start(home);
      const shipped = JSON.parse(await readFile(join(packageRoot, 'config/replicas.json'), 'utf8'));
      const { $schema: _, redis: __, server: ___, ...rest } = shipped;
      const use = store === 'file' ? { use: 'file', options: { path: 'keys.json' } } : { use: 'mongo', options: {} };
      await writeFile(first.config, JSON.stringify({ ...rest, auth: { keys: use } }));
      const published = await runCommand(
        registerPublish,
        ['--config', first.config, 'publish', join(packageRoot, 'plugins/metro/dataset')],
        first.env,
      );
      if (published.error) throw published.error;
      const [valid, revoked] = [
        await keys(first.config, first.env, 'create', '--name', 'valid', '--limit', '10000'),
        await keys(first.config, first.env, 'create', '--name', 'revoked'),
      ].map((key) => key.trim()) as [string, string];
      const { id } = JSON.parse(await keys(first.config, first.env, 'list', '--json')).at(-1);
      await keys(first.config, first.env, 'revoke', id);
      const original = await serve(first.config, first.env);
      const before = await responses(original, [valid, revoked]);
      const audited = await keys(first.config, first.env, 'audit', '--verify');

      // The backup is made while the service runs.
      await dump(first.mongo.url, backup);
      await cp(home, join(backup, 'home'), { recursive: true });
      await original.stop();
      await first.mongo.stop();
      await rm(home, { recursive: true });

      await cp(join(backup, 'home'), other, { recursive: true });
      const second = await start(other);
      await restore(second.mongo.url, backup);
      const restored = await serve(second.config, second.env);
      expect(await responses(restored, [valid, revoked])).to.deep.equal(before);
      expect(before.filter((each) => (each as unknown[])[1] === 200)).to.have.length.at.least(PATHS.length - 3);
      expect(await keys(second.config, second.env, 'audit', '--verify')).to.equal(audited);
      await keys(second.config, second.env, 'create', '--name', 'new');
    });
  });
}
