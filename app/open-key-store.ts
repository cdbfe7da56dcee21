/** Opens the key store that a config names, for tools that do not serve. */
import type { LoadedConfig } from '../core/config/load.js';
import type { KeyStore } from '../core/contracts/keys.js';
import type { Logger } from '../core/contracts/runtime.js';
import { createContainer, resolve } from './container.js';
import { loadModules } from './load-modules.js';

/** The caller closes it. */
export const openKeyStore = async (loaded: LoadedConfig, logger: Logger): Promise<KeyStore> => {
  const container = createContainer({ config: loaded, modules: await loadModules(loaded) }, { logger });
  const store = resolve(container, 'keyStore');
  await store.open();
  return store;
};
