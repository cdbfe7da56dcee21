/** The service with all that it does switched on: keys, limits, validation, ETags, ids, a JSON log and metrics. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatKeyFile } from '../core/keys/key-file.js';
import { hashKey } from '../core/keys/key-format.js';
import type { Bench } from './bench.js';
import { runPinned, SERVER_CORE } from './pinned-process.js';
import type { ServerCommand } from './server.js';

export const BASE = '/api/v1';

const program = 'bench/service-main.js';
/** The compiled files of this version. */
const compiled = fileURLToPath(new URL('..', import.meta.url));

export interface ServiceOptions {
  readonly adapter: { readonly use: string; readonly options: object };
  readonly limiter: 'off' | 'memory' | 'redis';
  readonly cacheBytes?: number;
  readonly workers?: number;
  readonly cores?: string;
  readonly key?: string;
  /** The compiled files of another version. */
  readonly compiled?: string;
}

const record = (key: string, limit: number | null, id = `bench-${limit}`) => ({
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
  const keys = join(bench.folder, 'keys.json');
  const usual = bench.usualKeys.map((key, i) => record(key, null, `usual-${i}`));
  await writeFile(keys, formatKeyFile([record(bench.key, bench.limit), record(bench.refusedKey, 1), ...usual]));
  const path = join(bench.folder, `config-${configs++}.json`);
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

export const serviceCommand = async (bench: Bench, options: ServiceOptions): Promise<ServerCommand> => {
  const config = await writeConfig(bench, options);
  return {
    command: [
      ...[process.execPath, join(options.compiled ?? compiled, program), 'start', '--config', config],
      ...(options.limiter === 'off' ? ['--without-limiter'] : []),
    ],
    probe: `${BASE}/markets/${bench.cbsa}`,
    key: bench.key,
    ...(options.cores && { cores: options.cores }),
  };
};

/** Publishes a dataset directory into the storage that the options name. */
export const publish = async (bench: Bench, options: ServiceOptions, directory: string): Promise<void> => {
  const config = await writeConfig(bench, options);
  await runPinned(SERVER_CORE, [process.execPath, join(compiled, program), 'publish', directory, '--config', config]);
};
