/** Opens the key store that a config names, for tools that do not serve. */
import type { LoadedConfig } from '../core/config/load.js';
import type { KeyStore } from '../core/contracts/keys.js';
import type { Logger } from '../core/contracts/runtime.js';
import type { ServiceInfo } from '../core/contracts/service.js';
import { createContainer, resolve } from './container.js';
import { loadModules } from './load-modules.js';

export interface OpenedKeyStore {
  /** The caller closes it. */
  readonly store: KeyStore;
  readonly service: ServiceInfo;
}

export const openKeyStore = async (loaded: LoadedConfig, logger: Logger): Promise<OpenedKeyStore> => {
  const modules = await loadModules(loaded);
  const container = createContainer({ config: loaded, modules }, { logger });
  const store = resolve(container, 'keyStore');
  await store.open();
  return { store, service: modules.registry.service };
};
