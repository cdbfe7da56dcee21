/** Opens the storage that a config names, for tools that do not serve. */
import type { Collection } from '../core/contracts/dataset.js';
import type { AdapterModule, StorageAdapter } from '../core/contracts/storage.js';
import { createContainer, resolve } from './container.js';
import { loadConfig } from './load-config.js';
import { loadModules } from './load-modules.js';

export interface OpenedStorage {
  readonly adapter: StorageAdapter;
  readonly module: AdapterModule;
  readonly collections: ReadonlyMap<string, Collection>;
  close(): Promise<void>;
}

/** @param path as given on the command line; undefined: the environment's or the embedded config */
export const openStorage = async (path: string | undefined): Promise<OpenedStorage> => {
  const loaded = await loadConfig({ path, env: process.env });
  const modules = await loadModules(loaded);
  const adapter = resolve(createContainer({ config: loaded, modules }), 'adapter');
  await adapter.open();
  return {
    adapter,
    module: modules.adapter,
    collections: modules.registry.collections,
    close: () => adapter.close(),
  };
};
