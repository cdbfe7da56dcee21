import type { Modules } from '../../core/app/load-modules.js';
import { openKeyStore, openStorage } from '../../core/app/open-stores.js';
import type { LoadedConfig } from '../../core/config/load.js';
import { loadConfig, loadModules } from '../../product.js';
import { commandLogger } from '../output.js';
import type { Targets } from './read-backup.js';

type Opened = Targets & {
  readonly loaded: LoadedConfig;
  readonly modules: Modules;
};

/** The key store is null if keys are stored in memory. */
export const withStores = async <T>(path: string | undefined, task: (opened: Opened) => Promise<T>): Promise<T> => {
  const loaded = await loadConfig({ path });
  const modules = await loadModules(loaded);
  const logger = commandLogger();
  const isInMemory = loaded.config.auth.keys.use === 'memory';
  const storage = await openStorage({ config: loaded, modules }, logger);
  try {
    const keys = isInMemory ? undefined : await openKeyStore({ config: loaded, modules }, logger);
    try {
      return await task({ loaded, modules, storage, keyStore: keys?.store ?? null });
    } finally {
      await keys?.close();
    }
  } finally {
    await storage.close();
  }
};
