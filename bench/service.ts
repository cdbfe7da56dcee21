/** The service with all that it does switched on: keys, limits, validation, ETags, ids, a JSON log and metrics. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashKey } from '../core/keys/key.js';
import { formatKeyFile } from '../core/keys/key-file.js';
import { packageRoot } from '../core/util/package.js';
import { type Bench, HUGE_LIMIT, USUAL_LIMIT } from './bench.js';
import { runPinned, SERVER_CORE } from './pinned-process.js';
import type { ServerCommand } from './server.js';

export const BASE = '/api/v1';

export interface ServiceOptions {
  readonly adapter: { readonly use: string; readonly options: object };
  readonly limiter: 'memory' | 'redis';
  readonly cacheBytes?: number;
  readonly workers?: number;
  readonly cores?: string;
  readonly key?: string;
  /** The folder of another version, installed and built. */
  readonly checkout?: string;
}

/** The keys that are valid, with how often each may ask in a minute. */
export const limitsOf = ({ key, refusedKey, usualKeys }: Bench): (readonly [key: string, limit: number])[] => [
  [key, HUGE_LIMIT],
  [refusedKey, 1],
  ...usualKeys.map((usual) => [usual, USUAL_LIMIT] as const),
];

const record = (key: string, limit: number, id: string) => ({
  id,
  hash: hashKey(key),
  name: 'benchmark',
  tier: 'enterprise',
  limit_per_minute: limit,
  created_at: '2026-01-01T00:00:00Z',
  expires_at: null,
  revoked_at: null,
});

let configs = 0;

const writeConfig = async (bench: Bench, options: ServiceOptions): Promise<string> => {
  const id = configs++;
  const keys = join(bench.folder, `keys-${id}.json`);
  await writeFile(keys, formatKeyFile(limitsOf(bench).map(([key, limit], i) => record(key, limit, `bench-${i}`))));
  const path = join(bench.folder, `config-${id}.json`);
  const config = {
    server: { port: 0, workers: options.workers ?? 1 },
    ...(options.cacheBytes !== undefined && { http: { cacheBytes: options.cacheBytes } }),
    adapter: options.adapter,
    plugins: ['markets', 'forecasts', 'observations', 'signals', 'status'],
    auth: { keys: { use: 'file', options: { path: keys } } },
    ...(options.limiter === 'redis' && { redis: { url: bench.redis } }),
    log: { level: 'info', format: 'json' },
    // Of several workers each would need a port of its own.
    ...((options.workers ?? 1) === 1 && { metrics: { port: 0 } }),
  };
  await writeFile(path, JSON.stringify(config));
  return path;
};

export const json = (path: string): ServiceOptions['adapter'] => ({ use: 'json', options: { path } });

export const mongo = (uri: string, database: string): ServiceOptions['adapter'] => ({
  use: 'mongo',
  options: { uri, database },
});

/** The command line of a checkout, as its package names it: an earlier one may keep it elsewhere. */
const commandLine = async (checkout = packageRoot): Promise<string[]> => {
  const { bin } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  return [process.execPath, join(checkout, bin['metro-forecast']!)];
};

export const serviceCommand = async (bench: Bench, options: ServiceOptions): Promise<ServerCommand> => {
  const config = await writeConfig(bench, options);
  return {
    command: [...(await commandLine(options.checkout)), 'start', '--config', config],
    probe: `${BASE}/markets/${bench.cbsa}`,
    key: bench.key,
    ...(options.cores && { cores: options.cores }),
  };
};

/** Publishes a dataset directory into the storage that the options name. */
export const publish = async (bench: Bench, options: ServiceOptions, directory: string): Promise<void> => {
  const config = await writeConfig(bench, options);
  await runPinned(SERVER_CORE, [...(await commandLine()), 'publish', directory, '--config', config]);
};
