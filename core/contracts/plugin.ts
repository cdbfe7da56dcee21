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

/** The context that the framework passes to `Plugin.routes`. */
export interface PluginContext {
  readonly info: ServiceInfo;
  readonly components: readonly StatusComponent[];
  /** The collections that this plugin declares. */
  readonly ownCollections: readonly Collection[];
  readonly collections: ReadonlyMap<string, Collection>;
}

/** The context that the framework passes to `Plugin.open`. */
export interface OpenContext extends RunningContext {
  /** The Koa application of the service. It emits an `error` event for every error that occurs in a request. */
  readonly koa: Koa;
}

/**
 * `declare` is a method. With a function property, TypeScript would not allow plugins with different option types in
 * one list.
 */
interface CollectionsByOptions<Options> {
  declare(options: Options, context: { resolvePath(path: string): string }): readonly Collection[];
}

/** The default export of a plugin package. */
export interface Plugin<Options = unknown> {
  readonly kind: 'plugin';
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** The names of other plugins that must also be configured. */
  readonly needs?: readonly string[];
  /** JSON Schema for the options of the plugin. Default: the plugin has no options. */
  readonly options?: JsonSchema;
  /**
   * The collections of the plugin. Use a function if they depend on the options. `resolvePath` resolves a path in the
   * options relative to the folder of the configuration file.
   */
  readonly collections?: readonly Collection[] | CollectionsByOptions<Options>['declare'];
  /**
   * The name, version and description of the service, which the configuration can override. Only one plugin can define
   * them.
   */
  readonly info?: Partial<ServiceInfo>;
  readonly components?: readonly StatusComponent[];
  routes?(options: Options, context: PluginContext): readonly Route[];
  /** Additional response formats for every list in the service. */
  formats?(options: Options): readonly Format[];
  /** Endpoints outside the data API, such as pages and other protocols. */
  mounts?(options: Options): readonly Mount[];
  /** Koa middleware for the routes and mounts of this plugin, outermost first. */
  middleware?(options: Options): readonly Middleware[];
  /**
   * Koa middleware for the whole service, outermost first. It runs before keys and limits are checked, and sees every
   * response, including errors. Plugins run in configuration order.
   */
  serviceMiddleware?(options: Options): readonly Middleware[];
  /**
   * Called once before the service accepts requests. If this function throws or rejects, the service does not start.
   */
  open?(options: Options, context: OpenContext): Promise<void> | void;
  /** Called once after the last request. Not called if `open` failed. */
  close?(options: Options): Promise<void> | void;
  /**
   * Called for every error that occurs in a request, including client errors. `ctx.status` is the status of the
   * response: 500 or above for errors in the service.
   */
  onError?(error: unknown, ctx: Context, options: Options): Promise<void> | void;
  /** Identifies callers by credentials other than the service's API keys. Called once at startup. */
  identity?(options: Options, context: RunningContext): Identity;
  /**
   * The OpenAPI security scheme of the credentials that `identity` accepts, such as
   * `{ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }`.
   */
  readonly securityScheme?: { readonly type: string; readonly [keyword: string]: unknown };
  /** Creates an observer for all requests. Called once at startup. */
  observer?(options: Options, context: ObserverContext): RequestObserver;
}

/**
 * Defines a plugin. The JSON Schema in `options` determines the type of the options that the functions of the plugin
 * receive.
 */
export const definePlugin = <const S extends JsonSchema = Empty>(
  plugin: Omit<Plugin<NoInfer<WithDefaults<S>>>, 'kind' | 'options'> & { readonly options?: S },
): Plugin<WithDefaults<S>> => ({ kind: 'plugin', ...plugin }) as Plugin<WithDefaults<S>>;

/**
 * Declares a collection. TypeScript infers the type of the documents from the JSON Schema, so `snapshot.find(markets)`
 * returns typed documents.
 */
export const collection = <const S extends JsonSchema>(
  definition: Omit<Collection<NoInfer<ObjectFromSchema<S>>>, 'schema'> & { readonly schema: S },
): Collection<ObjectFromSchema<S>> & { readonly schema: S } => definition;

type ObjectFromSchema<S> = FromSchema<S> extends infer T extends object ? T : object;
