import { resolve } from 'node:path';
import type { LoadedConfig } from '../config/load.js';
import type { Draft } from '../config/overrides.js';
import { type Config, type ModuleConfig, serviceSchema } from '../config/schema.js';
import { maskSecrets } from '../config/secrets.js';
import { countsUsage, Tiers, tierErrors } from '../config/tiers.js';
import type { KeyStoreModule } from '../contracts/keys.js';
import type { Plugin } from '../contracts/plugin.js';
import type { ServiceInfo } from '../contracts/service.js';
import type { AdapterModule } from '../contracts/storage.js';
import { OperatorError } from '../errors.js';
import { usagePlugin } from '../limiter/usage-plugin.js';
import { openApiDocument } from '../openapi/document.js';
import { openApiPlugin } from '../openapi/plugin.js';
import { type Builtins, checkModule, loadModule, type ModuleKind } from '../registry/load-module.js';
import { type LoadedPlugin, type Registry, registerPlugins } from '../registry/register-plugins.js';
import { needsKey } from '../registry/route-defaults.js';
import { formatPlugin } from '../response/format-plugin.js';
import { compileSchema } from '../validation/compile-schema.js';
import { checkOptions, type Override, placeOf } from '../validation/describe-errors.js';
import { isObject } from '../validation/json.js';

export interface BuiltinModules {
  readonly adapters: Builtins<AdapterModule>;
  readonly keyStores: Builtins<KeyStoreModule>;
  readonly plugins: Builtins<Plugin>;
  readonly alwaysLoaded: readonly Plugin[];
}

export interface Modules {
  readonly adapter: AdapterModule;
  readonly keyStore: KeyStoreModule;
  readonly registry: Registry;
}

/** A configuration with valid module names. Its other sections can still be invalid. */
interface ModuleNames {
  readonly draft: Draft;
  readonly folder: string;
  readonly overrides: readonly Override[];
}

/**
 * Fills in default values for the options of modules.
 * @param extra plugins passed by the embedding program, registered after all others
 */
export const loadModules = async (
  builtins: BuiltinModules,
  { config, folder, path, overrides }: LoadedConfig,
  extra: readonly LoadedPlugin[] = [],
): Promise<Modules> => {
  const { auth, limits, server } = config;
  const tiers = () => new Tiers(auth, limits.requestsPerMinute);
  // `document` is called only after startup, when `modules` has a value.
  const document = (publicUrl: string) => openApiDocument(modules.registry, server.basePath, tiers(), publicUrl);
  const draft = config as unknown as Draft;
  const unnamed = [...frameworkPlugins(builtins, draft, document), ...extra];
  const { errors, ...modules } = await examine(builtins, { draft, folder, overrides }, unnamed);
  if (config.plugins.length + extra.length === 0)
    errors.push('plugins: an empty list is not allowed; name at least one plugin');
  if (errors.length > 0) {
    throw new OperatorError(`The configuration ${path} names invalid modules:`, errors);
  }
  return modules as Modules;
};

export const moduleErrors = async (
  builtins: BuiltinModules,
  { draft, ...where }: ModuleNames,
  extra: readonly LoadedPlugin[],
): Promise<readonly string[]> => {
  const service = compileSchema(serviceSchema)(draft['service']) ? draft['service'] : {};
  const unnamed = [...frameworkPlugins(builtins, draft, async () => ({})), ...extra];
  return (await examine(builtins, { draft: { ...draft, service }, ...where }, unnamed)).errors;
};

const frameworkPlugins = (
  { alwaysLoaded }: BuiltinModules,
  { auth, http }: Readonly<Record<string, unknown>>,
  document: (publicUrl: string) => Promise<object>,
): readonly LoadedPlugin[] =>
  [
    formatPlugin((http as Partial<Config['http']> | undefined)?.csvFormulaGuard ?? true),
    openApiPlugin(document),
    ...(countsUsage(auth) ? [usagePlugin] : []),
    ...alwaysLoaded,
  ].map((plugin) => ({
    plugin,
    options: {},
    at: 'the framework',
    isDefault: true,
    isTested: true,
  }));

interface Examined extends Partial<Modules> {
  readonly registry: Registry;
  readonly errors: string[];
}

/**
 * Loads and checks all modules. Collects all errors, except errors that are only a consequence of another module's
 * error.
 */
const examine = async (
  builtins: BuiltinModules,
  { draft: { adapter: namedAdapter, auth, plugins: named, service }, folder, overrides }: ModuleNames,
  unnamed: readonly LoadedPlugin[],
): Promise<Examined> => {
  const errors: string[] = [];
  const load = moduleLoader(folder, overrides, errors);
  const adapter = await load('adapter', namedAdapter, 'adapter', builtins.adapters);
  const keyStore = await load('key-store', isObject(auth) ? auth['keys'] : undefined, 'auth.keys', builtins.keyStores);
  const loaded: LoadedPlugin[] = [];
  const missing: string[] = [];
  for (const [index, entry] of (Array.isArray(named) ? named : []).entries()) {
    const at = `plugins[${index}]`;
    const plugin = await load<Plugin>('plugin', entry, at, builtins.plugins);
    if (plugin) {
      // The declarations of built-in plugins without options are checked by tests instead of at startup.
      const isTested = plugin.options === undefined && Object.hasOwn(builtins.plugins, entry.use);
      loaded.push({ plugin, options: entry.options ?? {}, at, isTested });
    } else missing.push(isModule(entry) ? entry.use : at);
  }
  for (const each of unnamed) {
    try {
      const checked = checkedPlugin(each);
      errors.push(...checked.errors);
      loaded.push(checked.plugin);
    } catch (error) {
      errors.push(`${each.at}: ${(error as Error).message}`);
      missing.push(each.plugin?.name ?? each.at);
    }
  }
  const registered = registerPlugins(loaded, service as Partial<ServiceInfo>, pathResolver(folder), missing);
  const { registry, isComplete } = registered;
  errors.push(...registered.errors, ...tierErrors(auth, namesWithKey(registry), isComplete));
  return { ...(adapter && { adapter }), ...(keyStore && { keyStore }), registry, errors };
};

const checkedPlugin = (loaded: LoadedPlugin): { plugin: LoadedPlugin; errors: string[] } => {
  const { plugin, at, isTested = false } = loaded;
  checkModule('plugin', plugin?.name ?? at, plugin);
  const options = copy(loaded.options);
  return { plugin: { ...loaded, options }, errors: optionErrors(plugin, `${at}.options`, options, { isTested }) };
};

const namesWithKey = ({ routes, mounts }: Registry): string[] => [
  ...new Set([
    ...routes.filter(({ route }) => needsKey(route)).flatMap(({ route, plugin }) => [plugin.name, route.path]),
    ...mounts.filter(({ mount }) => mount.key).flatMap(({ mount, plugin }) => [plugin.name, mount.path]),
  ]),
];

/** Copies the options of a module, because filling in defaults must not change objects of the embedding program. */
const copy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copy);
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copy(each)]));
};

const isModule = (part: unknown): part is ModuleConfig =>
  isObject(part) && typeof part['use'] === 'string' && part['use'] !== '' && isObject(part['options'] ?? {});

interface HasOptions {
  readonly options?: object;
  check?(options: never): Readonly<Record<string, string>>;
}

/** Invalid entries are skipped, because the configuration schema already reports them. */
const moduleLoader =
  (folder: string, overrides: readonly Override[], errors: string[]) =>
  async <T extends HasOptions>(
    kind: ModuleKind,
    named: unknown,
    at: string,
    builtins: Builtins<T>,
  ): Promise<T | undefined> => {
    if (!isModule(named)) return undefined;
    try {
      const module = await loadModule(kind, named.use, folder, builtins);
      const isTested = Object.hasOwn(builtins, named.use);
      errors.push(...optionErrors(module, `${at}.options`, named.options ?? {}, { overrides, isTested }));
      return module;
    } catch (error) {
      errors.push(`${at}: ${(error as Error).message}`);
      return undefined;
    }
  };

const NO_OPTIONS = { type: 'object', additionalProperties: false };

const optionErrors = (
  module: HasOptions,
  at: string,
  options: unknown,
  { overrides = [], isTested }: { readonly overrides?: readonly Override[]; readonly isTested: boolean },
): string[] => {
  const schema = { ...NO_OPTIONS, ...module.options };
  const errors = checkOptions(at, schema, options, { overrides, isTested });
  if (errors.length > 0) return errors;
  return Object.entries(module.check?.(options as never) ?? {}).map(
    ([name, problem]) => `${placeOf(`${at}.${name}`, overrides)}: ${problem}`,
  );
};

export const pathResolver =
  (folder: string) =>
  (path: string): string =>
    resolve(folder, path);

export const maskedConfig = ({ config }: LoadedConfig, { adapter, keyStore, registry }: Modules): Config =>
  maskSecrets(config, {
    adapter: adapter.options,
    keys: keyStore.options,
    plugins: registry.plugins.map(({ plugin }) => plugin.options),
  });
