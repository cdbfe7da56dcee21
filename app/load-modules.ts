/** From a configuration to the modules that it names, all their faults at once. */
import { resolve } from 'node:path';
import type { LoadedConfig } from '../core/config/load.js';
import type { Draft } from '../core/config/overrides.js';
import type { ModuleConfig } from '../core/config/schema.js';
import { tierFaults } from '../core/config/tiers.js';
import type { KeyStoreModule } from '../core/contracts/keys.js';
import type { Plugin } from '../core/contracts/plugin.js';
import type { AdapterModule } from '../core/contracts/storage.js';
import { OperatorError } from '../core/errors.js';
import { type Builtins, checkModule, loadModule, type ModuleKind } from '../core/registry/load-module.js';
import { type LoadedPlugin, type Registry, registerPlugins } from '../core/registry/register-plugins.js';
import { needsKey } from '../core/registry/route-defaults.js';
import type { Override } from '../core/validation/faults.js';
import { checkOptions } from '../core/validation/faults.js';
import { isObject } from '../core/validation/json.js';
import { adapters, keyStores, plugins } from './builtins.js';

export interface Modules {
  readonly adapter: AdapterModule;
  readonly keyStore: KeyStoreModule;
  readonly registry: Registry;
}

const NO_OPTIONS = { type: 'object', additionalProperties: false };

const optionFaults = (
  { options: schema }: { readonly options?: object },
  at: string,
  options: unknown,
  overrides: readonly Override[] = [],
): string[] => checkOptions(at, { ...NO_OPTIONS, ...schema }, options, overrides);

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
  const load = moduleLoader(folder, overrides, faults);
  const adapter = await load('adapter', config.adapter, 'adapter', adapters);
  const keyStore = await load('key-store', config.auth.keys, 'auth.keys', keyStores);
  const loaded: LoadedPlugin[] = [];
  for (const [index, entry] of config.plugins.entries()) {
    const plugin = await load<Plugin>('plugin', entry, `plugins[${index}]`, plugins);
    if (plugin) loaded.push({ plugin, options: entry.options, at: `plugins[${index}]` });
  }
  for (const { plugin, options, at } of extra) {
    try {
      checkModule('plugin', plugin?.name ?? at, plugin);
      const own = copied(options);
      faults.push(...optionFaults(plugin, `${at}.options`, own));
      loaded.push({ plugin, options: own, at });
    } catch (error) {
      faults.push(`${at}: ${(error as Error).message}`);
    }
  }
  let registry: Registry | undefined;
  try {
    registry = registerPlugins(loaded, config.service, pathResolver(folder));
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    faults.push(...error.faults);
  }
  if (registry) faults.push(...tierFaults(config.auth, namesWithKey(registry)));
  if (faults.length > 0 || !adapter || !keyStore || !registry) {
    throw new OperatorError(`The configuration ${path} names modules that cannot be used:`, faults);
  }
  return { adapter, keyStore, registry };
};

/** By which tiers name what needs a key: plugins, and paths of routes and mounts. */
const namesWithKey = ({ routes, mounts }: Registry): string[] => [
  ...new Set([
    ...routes.filter(({ route }) => needsKey(route)).flatMap(({ route, plugin }) => [plugin.name, route.path]),
    ...mounts.filter(({ mount }) => mount.key).flatMap(({ mount, plugin }) => [plugin.name, mount.path]),
  ]),
];

/** Plain objects and lists anew, so that filled-in defaults leave the embedding program's own as they are. */
const copied = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copied);
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copied(each)]));
};

/** Loads one module after the other, and adds what is wrong with each to `faults`. */
const moduleLoader =
  (folder: string, overrides: readonly Override[], faults: string[]) =>
  async <T extends { options?: object }>(
    kind: ModuleKind,
    { use, options }: ModuleConfig,
    at: string,
    builtins: Builtins<T>,
  ): Promise<T | undefined> => {
    try {
      const module = await loadModule(kind, use, folder, builtins);
      faults.push(...optionFaults(module, `${at}.options`, options, overrides));
      return module;
    } catch (error) {
      faults.push(`${at}: ${(error as Error).message}`);
      return undefined;
    }
  };

const isModule = (part: unknown): part is ModuleConfig =>
  isObject(part) && typeof part['use'] === 'string' && isObject(part['options'] ?? {});

/** The faults of the modules that a draft with other faults names. What is no module at all is told with those. */
export const moduleFaults = async (
  { adapter, auth, plugins: named }: Draft,
  folder: string,
  overrides: readonly Override[],
): Promise<readonly string[]> => {
  const faults: string[] = [];
  const load = moduleLoader(folder, overrides, faults);
  const check = async (...[kind, part, at, builtins]: Parameters<typeof load>) => {
    if (isModule(part)) await load(kind, { use: part.use, options: part.options ?? {} }, at, builtins);
  };
  await check('adapter', adapter as ModuleConfig, 'adapter', adapters);
  await check('key-store', (auth as { keys?: ModuleConfig } | undefined)?.keys as ModuleConfig, 'auth.keys', keyStores);
  for (const [index, part] of (Array.isArray(named) ? named : []).entries()) {
    await check('plugin', part, `plugins[${index}]`, plugins);
  }
  return faults;
};

/** Makes paths of options absolute: relative ones start at the config's folder. */
export const pathResolver =
  (folder: string) =>
  (path: string): string =>
    resolve(folder, path);
