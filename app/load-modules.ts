/** From a configuration to the modules that it names, all their faults at once. */
import { resolve } from 'node:path';
import { checkOptions } from '../core/config/faults.js';
import type { LoadedConfig } from '../core/config/load.js';
import type { ModuleConfig } from '../core/config/schema.js';
import type { KeyStoreModule } from '../core/contracts/keys.js';
import type { Plugin } from '../core/contracts/plugin.js';
import type { AdapterModule } from '../core/contracts/storage.js';
import { OperatorError } from '../core/errors.js';
import { type Builtins, loadModule, type ModuleKind } from '../core/registry/load-module.js';
import { type LoadedPlugin, type Registry, registerPlugins } from '../core/registry/register-plugins.js';
import { adapters, keyStores, plugins } from './builtins.js';

export interface Modules {
  readonly adapter: AdapterModule;
  readonly keyStore: KeyStoreModule;
  readonly registry: Registry;
}

const NO_OPTIONS = { type: 'object', additionalProperties: false };

/**
 * Loads what a config names, fills in the defaults of its options, and fits the plugins together.
 * @param extra plugins of an embedding program, registered after those of the config
 * @throws OperatorError with every fault of every module
 */
export const loadModules = async (
  { config, folder, path, overrides }: LoadedConfig,
  extra: readonly LoadedPlugin[] = [],
): Promise<Modules> => {
  const faults: string[] = [];

  const load = async <T extends { options?: object }>(
    kind: ModuleKind,
    { use, options }: ModuleConfig,
    at: string,
    builtins: Builtins<T>,
  ): Promise<T | undefined> => {
    try {
      const module = await loadModule(kind, use, folder, builtins);
      faults.push(...checkOptions(`${at}.options`, { ...NO_OPTIONS, ...module.options }, options, overrides));
      return module;
    } catch (error) {
      faults.push(`${at}: ${(error as Error).message}`);
      return undefined;
    }
  };

  const adapter = await load('adapter', config.adapter, 'adapter', adapters);
  const keyStore = await load('key-store', config.auth.keys, 'auth.keys', keyStores);
  const loaded: LoadedPlugin[] = [];
  for (const [index, entry] of config.plugins.entries()) {
    const plugin = await load<Plugin>('plugin', entry, `plugins[${index}]`, plugins);
    if (plugin) loaded.push({ plugin, options: entry.options, at: `plugins[${index}]` });
  }
  let registry: Registry | undefined;
  try {
    registry = registerPlugins([...loaded, ...extra], config.service);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    faults.push(...error.faults);
  }
  if (faults.length > 0 || !adapter || !keyStore || !registry) {
    throw new OperatorError(`The configuration ${path} names modules that cannot be used:`, faults);
  }
  return { adapter, keyStore, registry };
};

/** Makes paths of options absolute: relative ones start at the config's folder. */
export const pathResolver =
  (folder: string) =>
  (path: string): string =>
    resolve(folder, path);
