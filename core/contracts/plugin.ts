/** The plugin contract. */
import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import type { Collection } from './dataset.js';
import type { Format } from './format.js';
import type { Identity, RunningContext } from './identity.js';
import type { Empty, FromSchema, JsonSchema, WithDefaults } from './json-schema.js';
import type { Mount } from './mount.js';
import type { ObserverContext, RequestObserver } from './observer.js';
import type { Route } from './route.js';
import type { ServiceInfo } from './service.js';
import type { StatusComponent } from './state.js';

export type * from './format.js';
export type * from './front-page.js';
export type * from './identity.js';
export type { InnerResponse, Mount, MountContext } from './mount.js';
export type * from './route.js';
export { type DataResponseOf, dataRoute, type InputOf, serviceRoute } from './route-types.js';
export type * from './snapshot-reader.js';
export { type ComponentState, OWN_COMPONENTS, type ServiceState, type StatusComponent } from './state.js';

/** Information about the whole service, for a plugin that declares its routes. */
export interface PluginContext {
  readonly info: ServiceInfo;
  /** The status components of all plugins. */
  readonly components: readonly StatusComponent[];
  /** The collections that this plugin declares. */
  readonly ownCollections: readonly Collection[];
  /** The collections of all plugins, by name. */
  readonly collections: ReadonlyMap<string, Collection>;
}

/** What a plugin gets when the service opens it. */
export interface OpenContext extends RunningContext {
  /** The Koa application of the service. Its event `error` reports every error that a request causes. */
  readonly koa: Koa;
}

/** The function is declared as a method, so that plugins with different options fit into one list. */
interface CollectionsByOptions<Options> {
  declare(options: Options, context: { resolvePath(path: string): string }): readonly Collection[];
}

/** The default export of a plugin package. */
export interface Plugin<Options = unknown> {
  readonly kind: 'plugin';
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** The names of other plugins that the configuration must include. */
  readonly needs?: readonly string[];
  /** The JSON Schema of the plugin's options. Default: the plugin has no options. */
  readonly options?: JsonSchema;
  /**
   * A list, or a function if the collections depend on the options. `resolvePath` resolves a relative path from the
   * options against the folder of the configuration file.
   */
  readonly collections?: readonly Collection[] | CollectionsByOptions<Options>['declare'];
  /** The names and texts of the service, which the configuration can override. Only one plugin may define them. */
  readonly info?: Partial<ServiceInfo>;
  /** Additional components for `/status`. */
  readonly components?: readonly StatusComponent[];
  routes?(options: Options, context: PluginContext): readonly Route[];
  /** Additional formats for all lists of the service. */
  formats?(options: Options): readonly Format[];
  /** Endpoints outside the data API: pages and other protocols. */
  mounts?(options: Options): readonly Mount[];
  /** Koa middleware around the plugin's own routes and mounts, from the outermost to the innermost. */
  middleware?(options: Options): readonly Middleware[];
  /**
   * Koa middleware around the whole service, from the outermost to the innermost. It runs before keys and limits are
   * checked, and it sees every response, including errors. Plugins run theirs in the order of the configuration.
   */
  serviceMiddleware?(options: Options): readonly Middleware[];
  /** Called once, before the service accepts requests. If it fails, the service does not start. */
  open?(options: Options, context: OpenContext): Promise<void> | void;
  /** Called once, after the last request, if `open` succeeded. */
  close?(options: Options): Promise<void> | void;
  /**
   * Called with every error that a request causes, including client errors. `ctx.status` is the status of the response:
   * 500 or more for errors in the service.
   */
  onError?(error: unknown, ctx: Context, options: Options): Promise<void> | void;
  /** Identifies callers by credentials other than the API keys of the service. Called once, at startup. */
  identity?(options: Options, context: RunningContext): Identity;
  /** Opens an observer for all requests of the service. Called once, at startup. */
  observer?(options: Options, context: ObserverContext): RequestObserver;
}

/** Defines a plugin. The schema in `options` determines the type of the options in all functions of the plugin. */
export const definePlugin = <const S extends JsonSchema = Empty>(
  plugin: Omit<Plugin<NoInfer<WithDefaults<S>>>, 'kind' | 'options'> & { readonly options?: S },
): Plugin<WithDefaults<S>> => ({ kind: 'plugin', ...plugin }) as Plugin<WithDefaults<S>>;

/** Declares a collection. Its schema types the documents, so `snapshot.find(markets)` resolves with typed markets. */
export const collection = <const S extends JsonSchema>(
  definition: Omit<Collection<NoInfer<ObjectFromSchema<S>>>, 'schema'> & { readonly schema: S },
): Collection<ObjectFromSchema<S>> => definition;

type ObjectFromSchema<S> = FromSchema<S> extends infer T extends object ? T : object;
