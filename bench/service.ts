/** The service runs with all features: keys, limits in Redis, validation, a JSON log and metrics. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyRecord } from '../core/contracts/keys.js';
import { packageRoot } from '../core/util/package.js';
import { formatKeyFile } from '../test/support/key-file.js';

export const BASE = '/api/v1';

/** A limit in requests per minute that no caller reaches. The limiter still counts every request. */
export const HUGE_LIMIT = 100_000_000;

export const bearer = (key: string): string => `Bearer ${key}`;

export interface ServiceOptions {
  readonly folder: string;
  readonly adapter: { readonly use: string; readonly options: object };
  readonly redis: string;
  readonly keys: readonly KeyRecord[];
  readonly more?: Readonly<Record<string, unknown>>;
}

export const json = (path: string): ServiceOptions['adapter'] => ({ use: 'json', options: { path } });

export const writeConfig = async ({ folder, adapter, redis, keys, more }: ServiceOptions): Promise<string> => {
  const path = join(folder, `config-${new URL(redis).port}.json`);
  const keyFile = `${path}.keys`;
  await writeFile(keyFile, formatKeyFile(keys), { mode: 0o600 });
  const config = {
    server: { port: 0 },
    adapter,
    plugins: ['markets', 'forecasts', 'observations', 'signals', 'status'],
    auth: { keys: { use: 'file', options: { path: keyFile } } },
    redis: { url: redis },
    log: { level: 'info', format: 'json' },
    metrics: { port: 0 },
    ...more,
  };
  await writeFile(path, JSON.stringify(config));
  return path;
};

export const startCommand = async (
  config: string,
  { checkout = packageRoot, nodeOptions = [] as readonly string[] } = {},
): Promise<readonly string[]> => {
  const { bin } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  return [process.execPath, ...nodeOptions, join(checkout, bin['metro-forecast']!), 'start', '--config', config];
};
