/** The plugin contract: a group of endpoints, declared once for validation, documentation and tests. */
import type { Context, Middleware } from 'koa';
import type { ErrorKind } from '../errors.js';
import type { Collection, Manifest } from './dataset.js';
import type { Empty, FromSchema, JsonSchema, WithDefaults } from './json-schema.js';
import type { DayUsage, Quotas } from './limiter.js';
import type { ObserverContext, RequestObserver } from './observer.js';
import type { Health } from './runtime.js';
import type { ServiceInfo } from './service.js';
import type { Scalar } from './storage.js';

/** A parameter of a route. Values arrive checked, and converted to the type that the schema names. */
export interface Parameter {
  readonly description: string;
  /** `string`, `integer`, `number` or `boolean`, with any further keywords; `default` fills an absent one in. */
  readonly schema: JsonSchema;
  /** For query parameters; a path parameter is always required. */
  readonly required?: boolean;
  readonly example?: Scalar | boolean;
  /**
   * Where callers find values of the parameter: by operationId, a JSON Pointer (RFC 6901) into that operation's
   * response. The OpenAPI document links the operations. An operation that the service lacks is ignored.
   */
  readonly foundIn?: Readonly<Record<string, string>>;
}

/** Fields that a query may name: required, and strings or numbers. */
export type ScalarField<T> = { [K in keyof T & string]-?: T[K] extends Scalar ? K : never }[keyof T & string];

/** `Query` of one collection: its fields, and values of their types. */
export interface QueryOf<T> {
  /** The key of the collection, unless given, or one of its `orders`. */
  readonly order?: readonly ScalarField<T>[];
  readonly equal?: { readonly [K in ScalarField<T>]?: T[K] };
  readonly range?: {
    readonly [K in ScalarField<T>]: {
      readonly field: K;
      readonly from?: T[K] | undefined;
      readonly to?: T[K] | undefined;
    };
  }[ScalarField<T>];
  readonly descending?: boolean;
  /**
   * Skips all documents up to this place: values of the order's fields that `equal` does not name, in the order's
   * sequence.
   */
  readonly after?: readonly Scalar[];
  readonly limit?: number;
}

/** A snapshot as handlers read it: queries are checked, documents are typed by their collection. */
export interface SnapshotReader {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  get<T extends object>(collection: Collection<T>, key: readonly Scalar[]): Promise<Readonly<T> | undefined>;
  /** All matching documents. */
  find<T extends object>(collection: Collection<T>, query?: QueryOf<NoInfer<T>>): Promise<Readonly<T>[]>;
  /** All matching documents in batches, for results too large for memory. */
  stream<T extends object>(
    collection: Collection<T>,
    query?: QueryOf<NoInfer<T>>,
  ): AsyncIterable<readonly Readonly<T>[]>;
}

/** A version of the dataset in the store. */
export interface PublishedVersion {
  readonly version: string;
  readonly publishedAt: Date;
  readonly current: boolean;
  /** Reads the version, in turns with other long work. Undefined if the store has deleted the version meanwhile. */
  read<Result>(work: (snapshot: SnapshotReader) => Promise<Result>): Promise<Result | undefined>;
}

/** The running service, for routes about itself. */
export interface ServiceState {
  readonly now: Date;
  readonly startedAt: Date;
  readonly draining: boolean;
  /** The last known health of each part of the service. */
  readonly health: Readonly<Record<'storage' | 'limiter' | 'cache' | 'keys', Health>>;
  /** The current snapshot, or undefined while there is none. */
  readonly snapshot: SnapshotReader | undefined;
  /**
   * The versions in the store, newest publication first; the current version alone if the store has no earlier ones.
   * Rejects with a `StorageError`.
   */
  versions(): Promise<readonly PublishedVersion[]>;
  /** What a caller has used. @param subject of its account */
  usage(subject: string): Promise<readonly DayUsage[]>;
  /** Asks storage; rejects with a `StorageError` while it cannot be read. */
  pingStorage(): Promise<void>;
}

export interface ComponentState {
  readonly status: 'operational' | 'unknown' | 'degraded' | 'outage';
  /** Shown to callers, so it must not name hosts or errors of dependencies. */
  readonly message: string | null;
  /** RFC 3339; null if unknown. */
  readonly updated_at: string | null;
}

/** The components of `/status` that the framework reports itself. */
export const OWN_COMPONENTS = ['api', 'storage'] as const;
type OwnComponent = (typeof OWN_COMPONENTS)[number];

/** A part of the platform that `/status` reports on beside the service itself. */
export interface StatusComponent {
  readonly id: string;
  /** The framework's component that this one replaces. */
  readonly replaces?: OwnComponent;
  /** Absent: the check of the component that it replaces. */
  check?(service: ServiceState): ComponentState | Promise<ComponentState>;
}

/** What a plugin is told of the whole service when it declares its routes. */
export interface PluginContext {
  readonly service: ServiceInfo;
  /** Of all plugins. */
  readonly components: readonly StatusComponent[];
  /** The collections that this plugin has declared. */
  readonly ownCollections: readonly Collection[];
  /** Of all plugins, by name. */
  readonly collections: ReadonlyMap<string, Collection>;
}

/**
 * Declares collections that depend on the plugin's options. A method, so that a list may have plugins of any options.
 */
interface CollectionsByOptions<Options> {
  declare(options: Options, context: { resolvePath(path: string): string }): readonly Collection[];
}

/** The parameters of a route, by their names. */
export interface Parameters {
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
}

type ValueOf<P> = P extends { readonly schema: infer S }
  ? string extends keyof S
    ? Scalar | boolean
    : FromSchema<S>
  : never;
/** Query parameters that always have a value: required, or with a default. */
type Given<Q> = {
  [K in keyof Q]: Q[K] extends { readonly required: true } | { readonly schema: { readonly default: unknown } }
    ? K
    : never;
}[keyof Q];
type InputOfParts<Path, Query> = { readonly [K in keyof Path | Given<Query>]: ValueOf<(Path & Query)[K]> } & {
  readonly [K in Exclude<keyof Query, Given<Query>>]?: ValueOf<Query[K]>;
};
type Part<P, K extends string> = P extends { readonly [_ in K]: infer V } ? V : Empty;
/** What a handler gets: each parameter by its name, of the type that its schema says. */
export type InputOf<P> =
  InputOfParts<Part<P, 'path'>, Part<P, 'query'>> extends infer I ? { readonly [K in keyof I]: I[K] } : never;

/** The result of a data route's handler, by the schema of its response. A list may be streamed. */
export type DataResponseOf<S> =
  | FromSchema<S>
  | (FromSchema<S> extends { readonly data: readonly (infer Row)[] } ? StreamedList<Row> : StreamedList);

interface RouteBase<Input> {
  /** Relative to the base path, parameters in braces: `/markets/{cbsa}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Whether a request needs an API key. Default true. */
  readonly key?: boolean;
  readonly parameters?: Parameters;
  /** The 200: its JSON Schema and an example that validates. */
  readonly response: { readonly description: string; readonly schema: JsonSchema; readonly example: unknown };
  /** The errors that the handler may throw. The framework adds its own to the document. */
  readonly errors?: readonly ErrorKind[];
  /** Checks parameters against each other, which their schemas cannot; throws an `ApiError`. */
  readonly check?: (input: Input) => void;
}

/**
 * A list too large for memory, or to be written in one go while other requests wait: `{ data: snapshot.stream(rows) }`.
 */
export interface StreamedList<Row = object> {
  readonly data: AsyncIterable<readonly Row[]>;
}

/** A header that a route's 200 may have in addition to the framework's headers. */
export interface ResponseHeader {
  readonly description: string;
  readonly example: string;
}

/** The second argument of a data route's handler. */
export interface DataContext {
  readonly snapshot: SnapshotReader;
  /** Sets a header that the route declares. It is cached with the body, and a 304 has it too. */
  setHeader(name: string, value: string): void;
  /** A relative reference to this request with other values of some parameters: `?limit=5&after=x`. */
  reference(changes: Readonly<Record<string, Scalar | boolean>>): string;
}

/** A route whose response depends on the input and the snapshot alone, so that it is cached as long as the snapshot. */
export interface DataRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'data';
  readonly response: RouteBase<Input>['response'] & {
    /** By name. Pages of other origins may read them. */
    readonly headers?: Readonly<Record<string, ResponseHeader>>;
  };
  /**
   * The properties of a list's rows that are sent, in this sequence, if that depends on the input. The handler returns
   * whole rows. Undefined: all properties.
   */
  readonly columns?: (input: Input) => readonly string[] | undefined;
  /**
   * Whether the list has the format Parquet too. Each property of the rows then has one scalar type, by the schema.
   * Default false.
   */
  readonly parquet?: boolean;
  /**
   * Whether the route has the parameter `as_of`, with which the handler gets the snapshot of that date. Default false.
   */
  readonly vintages?: boolean;
  /**
   * Resolves with what the response's schema describes. If that is `{data: [...]}` alone, it may be a `StreamedList`:
   * callers get the same bytes, written batch by batch.
   */
  handler(input: Input, context: DataContext): Promise<unknown>;
}

/** The key that a request was sent with, by its id: the key's text is secret. */
export interface KeyHolder {
  readonly id: string;
  readonly tier: string;
}

/** What the usage of a caller is counted under, and how much it may send. */
export interface CallerAccount {
  /** As `Limiter.take` has it: a key and its successors by rotation share it. */
  readonly subject: string;
  readonly tier: string;
  /** Requests a minute. */
  readonly limit: number;
  readonly quotas: Quotas;
}

/** A request as handlers of service routes see it. */
export interface ServiceRequest {
  /** Null without a valid key, and if callers share the response. */
  readonly caller: KeyHolder | null;
  /** Null where the caller's usage is not counted, and where all callers share the response. */
  readonly account: CallerAccount | null;
  /** By lower-case name, without credentials and cookies; empty if callers share the response. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** A route whose response depends on the state of the service, and on the request unless callers share the response. */
export interface ServiceRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'service';
  /**
   * How long all callers and replicas share one response, which public caches may store. Absent: the handler runs each
   * time.
   */
  readonly sharedSeconds?: number;
  /** Whether requests count against a limit; those with a fault count in any case. Default true. */
  readonly limited?: boolean;
  handler(input: Input, context: ServiceRequest & { readonly service: ServiceState }): Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of routes holds routes of every input type
export type Route = DataRoute<any> | ServiceRoute<any>;

/**
 * The second argument of a mount's handler. It can be called, so that any Koa middleware can be a mount's handler: as
 * its
 * `next`, it leaves the request without a response, which is a 404.
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
   * Makes a GET request of the same caller to this service, middleware included, without counting it again.
   * @param target relative to the base path, with its query: `/movers?limit=5`
   */
  request(target: string): Promise<{ readonly status: number; readonly body: string }>;
}

/** An endpoint outside the data API with responses of its own: pages, or another protocol. */
export interface Mount {
  /**
   * From the origin: `/docs`. A mount also owns the paths below it. A mount of `/` owns this path alone and replaces the
   * front page.
   */
  readonly path: string;
  /** For the log and the start-up messages. */
  readonly summary: string;
  /** Without OPTIONS, which every endpoint has. Default GET and HEAD. */
  readonly methods?: readonly string[];
  /** Whether a request needs an API key. Default false. */
  readonly key?: boolean;
  /**
   * Request headers that web pages of other origins may send, in addition to those of the API. `Content-Type` is always
   * allowed where `methods` has one with a body.
   */
  readonly requestHeaders?: readonly string[];
  /** Response headers that web pages of other origins may read, in addition to those of the API. */
  readonly exposedHeaders?: readonly string[];
  /** Replaces the policy of the API, which allows a page nothing. */
  readonly contentSecurityPolicy?: string;
  /** Responds by Koa's context, as any Koa middleware does, or writes to `ctx.res`. */
  handler(ctx: Context, mount: MountContext): unknown;
}

/** What a plugin's package exports as `default`. */
export interface Plugin<Options = unknown> {
  readonly kind: 'plugin';
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Names of plugins that the configuration must have too. */
  readonly needs?: readonly string[];
  /** JSON Schema of the plugin's options in the config. Absent: it has none. */
  readonly options?: JsonSchema;
  /**
   * A function if they depend on the options; its `resolvePath` resolves a path of the options from the config file's
   * folder.
   */
  readonly collections?: readonly Collection[] | CollectionsByOptions<Options>['declare'];
  /** Who the service is, unless the configuration says so. Of the plugins of a service, at most one has this. */
  readonly service?: Partial<ServiceInfo>;
  /** What `/status` reports on beside the service itself. */
  readonly components?: readonly StatusComponent[];
  routes(options: Options, context: PluginContext): readonly Route[];
  /** Pages and other protocols beside the data API. */
  mounts?(options: Options): readonly Mount[];
  /** Koa middleware around the plugin's own routes and mounts, first to last. */
  middleware?(options: Options): readonly Middleware[];
  /**
   * Koa middleware around the whole service, first to last: it runs before keys and limits are checked, and sees every
   * response, errors included. The middleware of several plugins runs in the sequence of the plugins.
   */
  serviceMiddleware?(options: Options): readonly Middleware[];
  /**
   * Opens an observer of every finished request of the service, of other plugins' endpoints too. Called once, at the
   * start.
   */
  observer?(options: Options, context: ObserverContext): RequestObserver;
}

/** A route as it is declared: the schemas of parameters and response type the handler. */
type Declared<R extends Route, P, S, A> = Omit<
  R,
  'kind' | 'parameters' | 'response' | 'check' | 'columns' | 'handler'
> & {
  readonly parameters?: P;
  readonly response: Omit<R['response'], 'schema'> & { readonly schema: S };
  readonly check?: (input: NoInfer<InputOf<P>>) => void;
  handler(input: NoInfer<InputOf<P>>, context: globalThis.Parameters<R['handler']>[1]): Promise<A>;
};

type Columns<P> = { readonly columns?: (input: NoInfer<InputOf<P>>) => readonly string[] | undefined };

export const dataRoute = <
  const P extends Parameters = Empty,
  const S extends JsonSchema = JsonSchema,
  const A extends DataResponseOf<S> = DataResponseOf<S>,
>(
  route: Declared<DataRoute, P, S, A> & Columns<P>,
): Route => ({ kind: 'data', ...route }) as Route;

export const serviceRoute = <
  const P extends Parameters = Empty,
  const S extends JsonSchema = JsonSchema,
  const A extends FromSchema<S> = FromSchema<S>,
>(
  route: Declared<ServiceRoute, P, S, A>,
): Route => ({ kind: 'service', ...route }) as Route;

/** Defines a plugin. The schema of `options` types the options that the plugin's functions get. */
export const definePlugin = <const S extends JsonSchema = Empty>(
  plugin: Omit<Plugin<NoInfer<WithDefaults<S>>>, 'kind' | 'options'> & { readonly options?: S },
): Plugin<WithDefaults<S>> => ({ kind: 'plugin', ...plugin }) as Plugin<WithDefaults<S>>;

/** Declares a collection. The schema types its documents, as in `snapshot.find(markets)`. */
export const collection = <const S extends JsonSchema>(
  definition: Omit<Collection<NoInfer<FromSchema<S> & object>>, 'schema'> & { readonly schema: S },
): Collection<FromSchema<S> & object> => definition;
