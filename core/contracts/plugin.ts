/** The plugin contract. */
import type { Middleware } from 'koa';
import type { Collection } from './dataset.js';
import type { Empty, FromSchema, JsonSchema, WithDefaults } from './json-schema.js';
import type { Mount } from './mount.js';
import type { ObserverContext, RequestObserver } from './observer.js';
import type { Route } from './route.js';
import type { ServiceInfo } from './service.js';
import type { StatusComponent } from './state.js';

export type { Mount, MountContext } from './mount.js';
export type * from './route.js';
export { type DataResponseOf, dataRoute, type InputOf, serviceRoute } from './route-types.js';
export type * from './snapshot-reader.js';
export { type ComponentState, OWN_COMPONENTS, type ServiceState, type StatusComponent } from './state.js';

/** The whole service, for a plugin that declares its routes. */
export interface PluginContext {
  readonly info: ServiceInfo;
  /** The components of all plugins. */
  readonly components: readonly StatusComponent[];
  /** The collections that this plugin declares. */
  readonly ownCollections: readonly Collection[];
  /** The collections of all plugins, by name. */
  readonly collections: ReadonlyMap<string, Collection>;
}

/** Declared as a method, so that plugins with different options fit into one list. */
interface CollectionsByOptions<Options> {
  declare(options: Options, context: { resolvePath(path: string): string }): readonly Collection[];
}

/** The default export of a plugin's package. */
export interface Plugin<Options = unknown> {
  readonly kind: 'plugin';
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Names of other plugins that the configuration must have. */
  readonly needs?: readonly string[];
  /** JSON Schema of the plugin's options. Default: no options. */
  readonly options?: JsonSchema;
  /**
   * A list, or a function if the collections depend on the options. `resolvePath` makes a path in the options absolute,
   * relative to the folder of the configuration file.
   */
  readonly collections?: readonly Collection[] | CollectionsByOptions<Options>['declare'];
  /** Names and texts of the service. The configuration overrides them. Only one plugin may define them. */
  readonly info?: Partial<ServiceInfo>;
  /** Further components of `/status`. */
  readonly components?: readonly StatusComponent[];
  routes(options: Options, context: PluginContext): readonly Route[];
  /** Pages and other protocols outside the data API. */
  mounts?(options: Options): readonly Mount[];
  /** Koa middleware around the plugin's own routes and mounts, first to last. */
  middleware?(options: Options): readonly Middleware[];
  /**
   * Koa middleware around the whole service, first to last. It runs before keys and limits are checked and sees every
   * response, including errors. The middleware of several plugins runs in the order of the plugins.
   */
  serviceMiddleware?(options: Options): readonly Middleware[];
  /** Opens an observer of all requests of the service. Called once, at the start. */
  observer?(options: Options, context: ObserverContext): RequestObserver;
}

/** Defines a plugin. The schema of `options` types the options in all its functions. */
export const definePlugin = <const S extends JsonSchema = Empty>(
  plugin: Omit<Plugin<NoInfer<WithDefaults<S>>>, 'kind' | 'options'> & { readonly options?: S },
): Plugin<WithDefaults<S>> => ({ kind: 'plugin', ...plugin }) as Plugin<WithDefaults<S>>;

/** Declares a collection. The schema types its documents: `snapshot.find(markets)` resolves with markets. */
export const collection = <const S extends JsonSchema>(
  definition: Omit<Collection<NoInfer<FromSchema<S> & object>>, 'schema'> & { readonly schema: S },
): Collection<FromSchema<S> & object> => definition;
