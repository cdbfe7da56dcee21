import { join } from 'node:path';
import { createFramework } from './core/app/create-app.js';
import type { NamedVariable } from './core/config/overrides.js';
import type { KeyStoreModule } from './core/contracts/keys.js';
import type { Plugin } from './core/contracts/plugin.js';
import type { AdapterModule } from './core/contracts/storage.js';
import frontPage from './core/pages/front-page/index.js';
import type { Builtins } from './core/registry/load-module.js';
import { packageRoot } from './core/util/package.js';

// The cast is safe, because options are validated against the module's schema before `create` is called.
type Loader<T> = () => Promise<{ default: T }>;
const withOptions = <T>(load: () => Promise<{ default: unknown }>): Loader<T> => load as Loader<T>;

export const adapters: Builtins<AdapterModule> = {
  memory: withOptions(() => import('./adapters/memory.js')),
  json: withOptions(() => import('./adapters/json/index.js')),
  mongo: withOptions(() => import('./adapters/mongo/index.js')),
  sqlite: withOptions(() => import('./adapters/sqlite/index.js')),
};

export const keyStores: Builtins<KeyStoreModule> = {
  memory: withOptions(async () => ({ default: (await import('./core/keys/memory-key-store.js')).memoryKeyStore })),
  file: withOptions(async () => ({ default: (await import('./core/keys/file-key-store.js')).fileKeyStore })),
  mongo: withOptions(async () => ({ default: (await import('./adapters/mongo/key-store.js')).mongoKeyStore })),
  sqlite: withOptions(async () => ({ default: (await import('./adapters/sqlite/key-store.js')).sqliteKeyStore })),
};

export const plugins: Builtins<Plugin> = {
  markets: () => import('./plugins/metro/endpoints/markets.js'),
  forecasts: () => import('./plugins/metro/endpoints/forecasts.js'),
  observations: () => import('./plugins/metro/endpoints/observations.js'),
  signals: () => import('./plugins/metro/endpoints/signals.js'),
  vintages: () => import('./plugins/metro/endpoints/vintages.js'),
  tables: withOptions(() => import('./plugins/tables/index.js')),
  'table-pages': () => import('./plugins/tables/pages.js'),
  status: () => import('./plugins/status.js'),
  docs: () => import('./plugins/docs/index.js'),
  explore: () => import('./plugins/metro/explorer/index.js'),
  mcp: withOptions(() => import('./plugins/mcp/index.js')),
  opentelemetry: withOptions(() => import('./plugins/opentelemetry/index.js')),
};

/** Settings that can also be set with a conventional environment variable, such as `PORT`. */
export const namedVariables: readonly NamedVariable[] = [
  { variable: 'HOST', path: ['server', 'host'] },
  { variable: 'PORT', path: ['server', 'port'] },
  { variable: 'REDIS_URL', path: ['redis', 'url'], secret: true },
  {
    variable: 'MONGODB_URI',
    path: ['adapter', 'options', 'uri'],
    when: { at: ['adapter'], use: 'mongo' },
    secret: true,
  },
  {
    variable: 'MONGODB_URI',
    path: ['auth', 'keys', 'options', 'uri'],
    when: { at: ['auth', 'keys'], use: 'mongo' },
    secret: true,
  },
];

export const { loadConfig, loadModules, createApp } = createFramework({
  configuration: { prefix: 'METRO', embedded: join(packageRoot, 'config/default.json'), variables: namedVariables },
  adapters,
  keyStores,
  plugins,
  alwaysLoaded: [frontPage],
});
