/** From a configuration to the modules that it names, all their faults at once. */
import { resolve } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: moves to the entry point next.
import { adapters, keyStores, plugins } from '../../cli/builtins.js';
// biome-ignore lint/style/noRestrictedImports: moves to the entry point next.
import frontPage from '../../plugins/pages/front-page.js';
import type { LoadedConfig } from '../config/load.js';
import type { Draft } from '../config/overrides.js';
import { type ModuleConfig, serviceSchema } from '../config/schema.js';
import { countsUsage, Tiers, tierFaults } from '../config/tiers.js';
import type { KeyStoreModule } from '../contracts/keys.js';
import type { Plugin } from '../contracts/plugin.js';
import type { ServiceInfo } from '../contracts/service.js';
import type { AdapterModule } from '../contracts/storage.js';
import { OperatorError } from '../errors.js';
import { usagePlugin } from '../keys/usage-plugin.js';
import { openApiDocument } from '../openapi/document.js';
import { openApiPlugin } from '../openapi/plugin.js';
import { type Builtins, checkModule, loadModule, type ModuleKind } from '../registry/load-module.js';
import { fitPlugins, type LoadedPlugin, type Registry } from '../registry/register-plugins.js';
import { needsKey } from '../registry/route-defaults.js';
import { compileSchema } from '../validation/compile-schema.js';
import { checkOptions, type Override, placeOf } from '../validation/describe-errors.js';
import { isObject } from '../validation/json.js';

export interface Modules {
  readonly adapter: AdapterModule;
  readonly keyStore: KeyStoreModule;
  readonly registry: Registry;
}

const NO_OPTIONS = { type: 'object', additionalProperties: false };

interface HasOptions {
  readonly options?: object;
  check?(options: never): Readonly<Record<string, string>>;
}

const optionFaults = (
  module: HasOptions,
  at: string,
  options: unknown,
  overrides: readonly Override[] = [],
): string[] => {
  const faults = checkOptions(at, { ...NO_OPTIONS, ...module.options }, options, overrides);
  if (faults.length > 0) return faults;
  return Object.entries(module.check?.(options as never) ?? {}).map(
    ([name, problem]) => `${placeOf(`${at}.${name}`, overrides)}: ${problem}`,
  );
};

/** A configuration, which may have faults. */
interface ModuleNames {
  readonly draft: Draft;
  readonly folder: string;
  readonly overrides: readonly Override[];
}

/**
 * Loads what a config names, fills in the defaults of its options, and fits the plugins together.
 * @param extra plugins of an embedding program, registered after those of the config and the framework
 * @throws OperatorError with every fault of every module
 */
export const loadModules = async (
  { config, folder, path, overrides }: LoadedConfig,
  extra: readonly LoadedPlugin[] = [],
): Promise<Modules> => {
  const { auth, limits, server } = config;
  const document = () => openApiDocument(modules.registry, server.basePath, new Tiers(auth, limits.requestsPerMinute));
  const draft = config as unknown as Draft;
  const { faults, ...modules } = await examine({ draft, folder, overrides }, [
    ...ofFramework(auth, document),
    ...extra,
  ]);
  if (faults.length > 0) {
    throw new OperatorError(`The configuration ${path} names modules that cannot be used:`, faults);
  }
  return modules as Modules;
};

/** The faults of the modules that a draft with other faults names. What is no module at all is told with those. */
export const moduleFaults = async (
  { draft, ...where }: ModuleNames,
  extra: readonly LoadedPlugin[],
): Promise<readonly string[]> => {
  const service = compileSchema(serviceSchema)(draft['service']) ? draft['service'] : {};
  const plugins = [...ofFramework(draft['auth'], () => ({})), ...extra];
  return (await examine({ draft: { ...draft, service }, ...where }, plugins)).faults;
};

/** The plugins of the framework itself. @param document makes the OpenAPI document, once all plugins are registered */
const ofFramework = (auth: unknown, document: () => object): readonly LoadedPlugin[] =>
  [openApiPlugin(document), ...(countsUsage(auth) ? [usagePlugin] : []), frontPage].map((plugin) => ({
    plugin,
    options: {},
    at: 'the framework',
    isDefault: true,
  }));

/**
 * Loads all modules that can be loaded, and finds every fault that can be found without the others.
 * @param names `service` is valid; all else may have faults
 */
const examine = async (
  { draft: { adapter, auth, plugins: named, service }, folder, overrides }: ModuleNames,
  extra: readonly LoadedPlugin[],
): Promise<Partial<Modules> & { registry: Registry; faults: string[] }> => {
  const faults: string[] = [];
  const load = moduleLoader(folder, overrides, faults);
  const keys = isObject(auth) ? auth['keys'] : undefined;
  const loadedAdapter = await load('adapter', adapter, 'adapter', adapters);
  const keyStore = await load('key-store', keys, 'auth.keys', keyStores);
  const loaded: LoadedPlugin[] = [];
  const missing: string[] = [];
  for (const [index, entry] of (Array.isArray(named) ? named : []).entries()) {
    const at = `plugins[${index}]`;
    const plugin = await load<Plugin>('plugin', entry, at, plugins);
    if (plugin) loaded.push({ plugin, options: entry.options ?? {}, at });
    else missing.push(isModule(entry) ? entry.use : at);
  }
  for (const entry of extra) {
    const { plugin, options, at } = entry;
    try {
      checkModule('plugin', plugin?.name ?? at, plugin);
      const own = copied(options);
      faults.push(...optionFaults(plugin, `${at}.options`, own));
      loaded.push({ ...entry, options: own });
    } catch (error) {
      faults.push(`${at}: ${(error as Error).message}`);
      missing.push(plugin?.name ?? at);
    }
  }
  const { registry, isComplete, ...fitted } = fitPlugins(
    loaded,
    service as Partial<ServiceInfo>,
    pathResolver(folder),
    missing,
  );
  faults.push(...fitted.faults, ...tierFaults(auth, namesWithKey(registry), isComplete));
  return { ...(loadedAdapter && { adapter: loadedAdapter }), ...(keyStore && { keyStore }), registry, faults };
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

const isModule = (part: unknown): part is ModuleConfig =>
  isObject(part) && typeof part['use'] === 'string' && part['use'] !== '' && isObject(part['options'] ?? {});

/** Loads one module after the other, and adds what is wrong with each to `faults`; not of what the schema refuses. */
const moduleLoader =
  (folder: string, overrides: readonly Override[], faults: string[]) =>
  async <T extends HasOptions>(
    kind: ModuleKind,
    named: unknown,
    at: string,
    builtins: Builtins<T>,
  ): Promise<T | undefined> => {
    if (!isModule(named)) return undefined;
    try {
      const module = await loadModule(kind, named.use, folder, builtins);
      faults.push(...optionFaults(module, `${at}.options`, named.options ?? {}, overrides));
      return module;
    } catch (error) {
      faults.push(`${at}: ${(error as Error).message}`);
      return undefined;
    }
  };

/** Makes paths of options absolute: relative ones start at the config's folder. */
export const pathResolver =
  (folder: string) =>
  (path: string): string =>
    resolve(folder, path);
