import { execFileSync } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { packageRoot } from '../core/util/package.js';
import type { Server } from '../test/support/services.js';
import { type Bench, say } from './bench.js';
import type { Message } from './client.js';
import { exitedCpuSeconds } from './process.js';
import { saleId } from './rows-dataset.js';
import { sqlPeers } from './rows-sql.js';
import { type ServerCommand, startServer } from './server.js';
import { BASE, json, type ServiceOptions, startCommand, writeConfig } from './service.js';

export const JSON_ADAPTER = 'the service, json';
export const MONGO_ADAPTER = 'the service, mongo';
export const SQLITE_ADAPTER = 'the service, sqlite';
export const PEER = 'SQLite behind Fastify';

interface Contender {
  readonly name: string;
  readonly command: ServerCommand;
  /** Translates the paths of the service. Undefined if the contender accepts the same paths. */
  readonly ask?: (path: string) => Message;
  /** CPU time for writing the rows to the store, in seconds. Undefined if the contender reads the dataset itself. */
  readonly filled?: number | undefined;
}

const PROBE = `${BASE}/sales/${saleId(0)}`;

const cpuOf = (command: readonly string[]): number => {
  const before = exitedCpuSeconds();
  execFileSync(command[0]!, command.slice(1), { stdio: 'ignore' });
  return exitedCpuSeconds() - before;
};

/** SQLite behind Fastify has no Redis and no response cache, so the service runs without them too. */
const settings = (dataset: string) => ({
  redis: undefined,
  metrics: undefined,
  http: { cacheBytes: 0 },
  plugins: [{ use: 'tables', options: { path: dataset } }],
});

const service = async (
  bench: Bench,
  name: string,
  dataset: string,
  adapter: ServiceOptions['adapter'],
): Promise<Contender> => {
  const folder = await mkdtemp(join(bench.folder, 'service-'));
  const more = settings(dataset);
  const config = await writeConfig({ folder, adapter, redis: 'redis://127.0.0.1:1', keys: bench.records, more });
  const command = await startCommand(config);
  const publish = [...command.slice(0, -3), 'publish', dataset, '--config', config];
  say(`Filling the store of ${name}`);
  const filled = name === JSON_ADAPTER ? undefined : cpuOf(publish);
  return { name, command: { command, probe: PROBE, key: bench.hugeKey }, filled };
};

const peer = async (bench: Bench, dataset: string, database: string): Promise<Contender> => {
  const options = { dataset, database, limits: bench.limits };
  const program = [process.execPath, join(packageRoot, 'bench/contenders/sqlite.js'), JSON.stringify(options)];
  const command = { command: program, probe: PROBE, key: bench.hugeKey };
  say(`Filling the store of ${PEER}`);
  const before = exitedCpuSeconds();
  await (await startServer(command)).stop();
  return { name: PEER, command, filled: exitedCpuSeconds() - before };
};

/**
 * The `sqlite` adapter and SQLite behind Fastify are always measured. The `json` and `mongo` adapters need a MongoDB
 * server, and Datasette and ROAPI must be installed.
 * @param mongo undefined for 10 million rows, which are measured only with SQLite
 */
export const fillStores = async (
  bench: Bench,
  dataset: string,
  mongo: Server | undefined,
): Promise<readonly Contender[]> => {
  const contenders: Contender[] = [];
  if (mongo) {
    const uri = new URL(mongo.url);
    uri.pathname = basename(dataset).replace('-', '_');
    contenders.push(await service(bench, JSON_ADAPTER, dataset, json(dataset)));
    contenders.push(await service(bench, MONGO_ADAPTER, dataset, { use: 'mongo', options: { uri: String(uri) } }));
  }
  const path = join(bench.folder, `${basename(dataset)}.db`);
  contenders.push(await service(bench, SQLITE_ADAPTER, dataset, { use: 'sqlite', options: { path } }));
  const database = join(bench.folder, `${basename(dataset)}-peer.db`);
  contenders.push(await peer(bench, dataset, database));
  if (mongo) contenders.push(...(await sqlPeers(dataset, database)));
  return contenders;
};
