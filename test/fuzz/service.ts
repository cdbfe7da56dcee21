/**
 * The fuzzed service has the sample data, all built-in endpoints and pages, and third-party plugins with their data.
 */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTemplate } from '../../cli/commands/new.js';
import type { Document } from '../../core/contracts/dataset.js';
import { DECLARATION } from '../../core/data/declarations.js';
import { openDirectory } from '../../core/data/directory.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { packageRoot } from '../../core/util/package.js';
import type { Market } from '../../plugins/metro/collections.js';
import { commandArgs, runProcess } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { formatKeyFile } from '../support/key-file.js';
import { newKey } from '../support/key-record.js';
import { startServer } from '../support/server-process.js';
import { mongoForTests, uniqueName } from '../support/services.js';
import type { Target } from './schemathesis.js';

export const ADAPTERS = ['json', 'mongo'] as const;
export type AdapterName = (typeof ADAPTERS)[number];

export interface FuzzedService extends Target {
  stop(): Promise<void>;
}

const WRITTEN_PLUGIN = 'own-figures';
const PERMIT_MONTHS = ['2025-10-01', '2025-11-01', '2025-12-01'];

/** The column `limit` has the same name as a parameter. */
const TREES = {
  name: 'trees',
  key: ['id'],
  orders: [['species', 'planted', 'id']],
  schema: {
    type: 'object',
    required: ['id', 'species', 'planted', 'height', 'healthy', 'limit'],
    properties: {
      id: { type: 'integer' },
      species: { type: 'string' },
      planted: { type: 'string', format: 'date' },
      height: { type: ['number', 'null'] },
      healthy: { type: ['boolean', 'null'] },
      limit: { type: 'integer' },
    },
    examples: [{ id: 1, species: 'Oak', planted: '2001-10-01', height: 12.5, healthy: true, limit: 3 }],
  },
};
const trees = Array.from({ length: 40 }, (_, i) => ({
  ...{ id: i + 1, species: ['Ash', 'Elm', 'Oak'][i % 3], planted: `20${10 + (i % 15)}-10-01` },
  ...{ height: i % 4 === 0 ? null : i / 2, healthy: i % 5 === 0 ? null : i % 2 === 0, limit: i % 7 },
}));

const rowsOf = async <T = Document>(directory: string, collection: string): Promise<T[]> => {
  const rows: T[] = [];
  const { dataset } = await openDirectory(directory);
  for await (const batch of dataset.read(collection)) rows.push(...(batch as readonly T[]));
  return rows;
};

/** Operators install plugins in the folder of the configuration, so the test does the same. */
const installPlugins = async (folder: string): Promise<void> => {
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  const permits = join(modules, 'metro-forecast-permits');
  await cp(join(packageRoot, 'test/packages/permits-plugin'), permits, { recursive: true });
  await symlink(packageRoot, join(modules, 'metro-forecast-api'), 'dir');
  await writeTemplate('plugin', WRITTEN_PLUGIN, folder);
};

const writeDataset = async (folder: string): Promise<string> => {
  const directory = join(folder, 'dataset');
  await cp(join(packageRoot, 'plugins/metro/dataset'), directory, { recursive: true });
  const { manifest } = await openDirectory(directory);
  const markets = await rowsOf<Market>(directory, 'markets');
  const permits = markets.flatMap(({ cbsa }) => PERMIT_MONTHS.map((month, i) => ({ cbsa, month, units: 10 + i })));
  const written = WRITTEN_PLUGIN.replaceAll('-', '_');
  const figures = await rowsOf(join(folder, WRITTEN_PLUGIN, 'dataset'), written);
  await writeDirectory(
    directory,
    { ...manifest, version: `${manifest.version}-fuzz` },
    { permits: [permits], [written]: [figures], [TREES.name]: [trees] },
  );
  await writeFile(join(directory, `${TREES.name}${DECLARATION}`), JSON.stringify(TREES));
  return directory;
};

const adapterConfig = async (name: AdapterName): Promise<object> =>
  name === 'json'
    ? { use: 'json', options: { path: 'dataset' } }
    : { use: 'mongo', options: { uri: (await mongoForTests()).url, database: uniqueName('fuzz') } };

export const startFuzzedService = async (adapter: AdapterName): Promise<FuzzedService> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-fuzz-'));
  try {
    await installPlugins(folder);
    const dataset = await writeDataset(folder);
    const { key, record } = newKey();
    await writeFile(join(folder, 'keys.json'), formatKeyFile([record]));
    const config = join(folder, 'config.json');
    const ours = ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status', 'docs', 'explore'];
    const sections = {
      adapter: await adapterConfig(adapter),
      plugins: [
        ...ours,
        { use: 'tables', options: { path: 'dataset' } },
        'metro-forecast-permits',
        `./${WRITTEN_PLUGIN}/index.js`,
      ],
      auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
      // A 429 or a 503 would hide the response under test.
      limits: { requestsPerMinute: 1_000_000_000 },
      server: { overload: null },
      log: { level: 'silent' },
    };
    await writeFile(config, JSON.stringify(sections));
    if (adapter === 'mongo') await runProcess(['publish', dataset, '--config', config], {});
    const server = await startServer({
      name: 'fuzzed',
      program: process.execPath,
      args: () => commandArgs(['start', '--config', config]),
      env: (port) => ({ PORT: String(port) }),
      url: (port) => `http://127.0.0.1:${port}/api/v1`,
      ready: async (port) => {
        const { status } = await request(`http://127.0.0.1:${port}/api/v1/health`);
        if (status !== 200) throw new Error(`The service is not healthy: ${status}.`);
      },
    });
    return {
      url: server.url,
      key,
      async stop() {
        await server.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
};
