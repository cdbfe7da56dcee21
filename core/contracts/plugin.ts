/** The plugin contract: a group of endpoints, declared once for validation, documentation and tests. */
import type { Context, Middleware } from 'koa';
import type { ErrorKind } from '../errors.js';
import type { Collection, Manifest } from './dataset.js';
import type { JsonSchema } from './json-schema.js';
import type { ObserverContext, RequestObserver } from './observer.js';
import type { Health } from './runtime.js';
import type { ServiceInfo } from './service.js';
import type { Query, Scalar } from './storage.js';

/** A parameter of a route. Values arrive checked, and converted to the type that the schema names. */
export interface Parameter {
  readonly description: string;
  /** `string`, `integer`, `number` or `boolean`, with any further keywords; `default` fills an absent one in. */
  readonly schema: JsonSchema;
  /** Query parameters only; path parameters always are. */
  readonly required?: boolean;
  readonly example?: Scalar | boolean;
  /**
   * Where callers find values of it: a JSON Pointer (RFC 6901) into the answer of each operation named. The document has
   * a link from there; operations that the service lacks are passed over.
   */
  readonly foundIn?: Readonly<Record<string, string>>;
}

/** A snapshot as handlers read it: queries are checked, documents are typed by their collection. */
export interface SnapshotReader {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  get<T extends object>(collection: Collection<T>, key: readonly Scalar[]): Promise<T | undefined>;
  /** All matching documents. */
  find<T extends object>(collection: Collection<T>, query?: Partial<Query>): Promise<T[]>;
  /** The same in batches, for answers too large to hold. */
  stream<T extends object>(collection: Collection<T>, query?: Partial<Query>): AsyncIterable<readonly T[]>;
}

/** The running service, for routes about itself. */
export interface ServiceState {
  readonly now: Date;
  readonly startedAt: Date;
  readonly draining: boolean;
  /** What is known of each part without asking it again. */
  readonly health: Readonly<Record<'storage' | 'limiter' | 'cache' | 'keys', Health>>;
  /** The current snapshot, or undefined while there is none. */
  readonly snapshot: SnapshotReader | undefined;
  /** Asks storage; rejects with a `StorageError` while it cannot be read. */
  pingStorage(): Promise<void>;
}

/** From best to worst. */
export const STATUS_LEVELS = ['operational', 'unknown', 'degraded', 'outage'] as const;

export interface ComponentState {
  readonly status: (typeof STATUS_LEVELS)[number];
  /** For callers: it names no hosts and no errors of dependencies. */
  readonly message: string | null;
  /** RFC 3339; null where it is not known. */
  readonly updated_at: string | null;
}

/** What `/status` reports on by itself. */
export const OWN_COMPONENTS = ['api', 'storage'] as const;
type OwnComponent = (typeof OWN_COMPONENTS)[number];

/** A part of the platform that `/status` reports on beside the service itself. */
export interface StatusComponent {
  readonly id: string;
  /** The framework's component in whose place it stands. */
  readonly replaces?: OwnComponent;
  check(service: ServiceState): ComponentState | Promise<ComponentState>;
}

/** What a plugin is told of the whole service when it declares its routes. */
export interface PluginContext {
  readonly service: ServiceInfo;
  /** Of all plugins. */
  readonly components: readonly StatusComponent[];
}

interface RouteBase<Input> {
  /** Relative to the base path, parameters in braces: `/markets/{cbsa}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Whether a request needs an API key. Default true. */
  readonly key?: boolean;
  readonly parameters?: {
    readonly path?: Readonly<Record<string, Parameter>>;
    readonly query?: Readonly<Record<string, Parameter>>;
  };
  /** The 200: its JSON Schema and an example that validates. */
  readonly response: { readonly description: string; readonly schema: JsonSchema; readonly example: unknown };
  /** The errors that the handler may throw. The framework's are added by themselves. */
  readonly errors?: readonly ErrorKind[];
  /** Checks what single schemas cannot say, by throwing an `ApiError`. */
  readonly check?: (input: Input) => void;
}

/** A list too large to hold, or to write while others wait: `{ data: snapshot.stream(rows) }`. */
export interface StreamedList {
  readonly data: AsyncIterable<readonly object[]>;
}

/** The answer depends on the input and the snapshot alone, and is kept as long as the snapshot. */
export interface DataRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'data';
  /** Whether it can be asked `as_of` an earlier date. Default false. The snapshot is then the one of that time. */
  readonly vintages?: boolean;
  /**
   * Answers with what the schema describes. Where that is `{data: [...]}` and nothing beside, `data` may be a
   * `StreamedList`'s: callers get the same, written batch by batch.
   */
  handler(input: Input, context: { readonly snapshot: SnapshotReader }): Promise<unknown>;
}

/** The answer depends on the service's state. */
export interface ServiceRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'service';
  /** Kept for this many seconds for all replicas together, and by public caches. Absent: asked each time. */
  readonly sharedSeconds?: number;
  /** Whether requests count against a limit. Default true. */
  readonly limited?: boolean;
  handler(input: Input, context: { readonly service: ServiceState }): Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of routes holds routes of every input type
export type Route = DataRoute<any> | ServiceRoute<any>;

/**
 * What a mount is given beside Koa's context. Any Koa middleware can be a mount's handler: called as its `next`, this leaves
 * the request unanswered, which is a 404.
 */
export interface MountContext {
  (): Promise<void>;
  /** Every route of the service, for pages and tools that list or call them. */
  readonly routes: readonly Route[];
  /** Every mount of the service, for pages that link to each other. */
  readonly mounts: readonly Mount[];
  readonly service: ServiceInfo;
  /** The prefix of every route's path, without a slash at its end: `/api/v1`. */
  readonly basePath: string;
  /** Whether the operator lets the service compress. */
  readonly compression: boolean;
  /**
   * Answers as a GET request of the same caller would, middleware included, without counting it again.
   * @param target relative to the base path, with its query: `/movers?limit=5`
   */
  request(target: string): Promise<{ readonly status: number; readonly body: string }>;
}

/** An address outside the data API that answers in its own way: pages, or another protocol. */
export interface Mount {
  /** From the origin: `/docs`. Everything below it belongs to the mount too; below `/`, nothing does. */
  readonly path: string;
  /** For the log and the start-up messages. */
  readonly summary: string;
  /** Beside OPTIONS. Default GET and HEAD. */
  readonly methods?: readonly string[];
  /** Whether a request needs an API key. Default false: pages are for everybody. */
  readonly key?: boolean;
  /** Replaces the API's policy, which allows nothing. */
  readonly contentSecurityPolicy?: string;
  /** Answers by Koa's context, as any Koa middleware does, or writes to `ctx.res` itself. */
  handler(ctx: Context, mount: MountContext): unknown;
}

/** What a plugin's package exports as `default`. */
export interface Plugin<Options = unknown> {
  readonly kind: 'plugin';
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Names of plugins that must be there too. */
  readonly needs?: readonly string[];
  /** JSON Schema of the plugin's options in the config. Absent: it has none. */
  readonly options?: JsonSchema;
  readonly collections?: readonly Collection[];
  /** Who the service is, where the configuration does not say so. One plugin of a service at most has this. */
  readonly service?: Partial<ServiceInfo>;
  /** What `/status` reports on beside the service itself. */
  readonly components?: readonly StatusComponent[];
  routes(options: Options, context: PluginContext): readonly Route[];
  /** Pages and other protocols beside the data API. */
  mounts?(options: Options): readonly Mount[];
  /** Koa middleware around the plugin's own routes and mounts, first to last. */
  middleware?(options: Options): readonly Middleware[];
  /**
   * Koa middleware around the whole service, first to last: before keys and limits, and after every response and error,
   * which they see as bodies. Those of plugins stand in the sequence of the plugins.
   */
  serviceMiddleware?(options: Options): readonly Middleware[];
  /** Watches every finished request of the service, whichever plugin answered it. Asked once, when it opens. */
  observer?(options: Options, context: ObserverContext): RequestObserver;
}

/** Types a route's input: `dataRoute<{ cbsa: string }>({ path: '/markets/{cbsa}', ... })`. */
export const dataRoute = <Input = Record<string, never>>(route: Omit<DataRoute<Input>, 'kind'>): Route => ({
  kind: 'data',
  ...route,
});

export const serviceRoute = <Input = Record<string, never>>(route: Omit<ServiceRoute<Input>, 'kind'>): Route => ({
  kind: 'service',
  ...route,
});

export const definePlugin = <Options = unknown>(plugin: Omit<Plugin<Options>, 'kind'>): Plugin<Options> => ({
  kind: 'plugin',
  ...plugin,
});

/** Keeps a collection's document type: `collection<Market>({ name: 'markets', ... })`. */
export const collection = <T extends object>(definition: Collection<T>): Collection<T> => definition;
