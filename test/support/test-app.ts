import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App, AppOverrides } from '../../core/app/app-types.js';
import type { Document, Manifest } from '../../core/contracts/dataset.js';
import type { KeyRecord } from '../../core/contracts/keys.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { createApp, loadConfig } from '../../product.js';
import * as fixture from './fixture.js';
import { request, type TestRequest, type TestResponse } from './http-client.js';
import { newKey } from './key-record.js';

export interface TestAppOptions {
  readonly manifest?: Manifest;
  readonly collections?: Readonly<Record<string, readonly Document[]>>;
  /** Sections that replace or extend the test configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly overrides?: AppOverrides;
}

export interface TestApp {
  readonly app: App;
  readonly url: string;
  readonly origin: string;
  readonly metricsUrl: string | null;
  readonly directory: string;
  readonly keys: MemoryKeyStore;
  readonly key: string;
  newKey(record?: Partial<KeyRecord>): Promise<{ key: string; id: string }>;
  /** Sends `key` unless the headers contain another key. The path is relative to the base path. */
  get(path: string, request?: TestRequest): Promise<TestResponse>;
  close(): Promise<void>;
}

export const addKey = async (store: MemoryKeyStore, record: Partial<KeyRecord> = {}) => {
  const { key, record: kept } = newKey({ limit_per_minute: 100_000, ...record });
  await store.insert(kept);
  return { key, id: kept.id };
};

export const startTestApp = async ({
  manifest = fixture.manifest,
  collections = fixture.documents,
  config = {},
  overrides = {},
}: TestAppOptions = {}): Promise<TestApp> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-test-'));
  const directory = join(folder, 'dataset');
  try {
    await writeDirectory(
      directory,
      manifest,
      Object.fromEntries(Object.entries(collections).map(([name, rows]) => [name, [rows]])),
    );
    const path = join(folder, 'config.json');
    const written = {
      adapter: { use: 'json', options: { path: 'dataset', pollMs: 50 } },
      plugins: ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status'],
      auth: { realm: 'metro-forecast', keys: { use: 'memory' } },
      limits: { requestsPerMinute: 100_000 },
      log: { level: 'silent' },
      ...config,
      server: { port: 0, ...(config['server'] as object | undefined) },
      http: { responseCheck: 'refuse', ...(config['http'] as object | undefined) },
    };
    await writeFile(path, JSON.stringify(written));
    const keys = new MemoryKeyStore();
    const { key } = await addKey(keys);
    const app = await createApp(await loadConfig({ path, env: {} }), { keyStore: keys, ...overrides });
    const { url, metricsUrl } = await app.listen();
    return {
      app,
      url,
      origin: new URL(url).origin,
      metricsUrl,
      directory,
      keys,
      key,
      newKey: (record) => addKey(keys, record),
      get: (target, { headers = {}, ...rest } = {}) =>
        request(`${url}${target}`, { ...rest, headers: { Authorization: `Bearer ${key}`, ...headers } }),
      async close() {
        await app.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
};
