/** Routes: the endpoints of the data API. */
import type { ErrorKind } from '../errors.js';
import type { JsonSchema } from './json-schema.js';
import type { Quotas } from './limiter.js';
import type { SnapshotReader } from './snapshot-reader.js';
import type { ServiceState } from './state.js';
import type { Scalar } from './storage.js';

/** The value of a parameter. An array has each value once, in the order of the request. */
export type ParameterValue = Scalar | boolean | readonly Scalar[];

/** A parameter of a route. Handlers get checked values of the schema's type. */
export interface Parameter {
  readonly description: string;
  /**
   * Of type `string`, `integer`, `number` or `boolean`, with any other keywords; or of type `array` with `items` of such
   * a type, for values separated by commas. `default` is used if the parameter is absent.
   */
  readonly schema: JsonSchema;
  /** Only for query parameters. Path parameters are always required. */
  readonly required?: boolean;
  readonly example?: ParameterValue;
  /**
   * Where callers find values: by operationId, a JSON Pointer (RFC 6901) into the response of that operation. The
   * OpenAPI document links the two operations. Operations that the service does not have are ignored.
   */
  readonly foundIn?: Readonly<Record<string, string>>;
}

/** The parameters of a route, by name. */
export interface Parameters {
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  /**
   * The columns that requests can filter by, with the schemas of their values: `filterColumns` of a collection.
   * `price[gte]=6` becomes the property `price[gte]` of the input; `conditionsOf` reads all such properties. `price=6` is
   * short for `price[eq]=6`, `price_from` for `price[gte]` and `price_to` for `price[lte]`, unless another parameter or
   * column has that name.
   */
  readonly filters?: Readonly<Record<string, JsonSchema>>;
}

interface RouteBase<Input> {
  /** Relative to the base path, with parameters in braces: `/markets/{cbsa}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Whether a request needs an API key. Default: true. */
  readonly key?: boolean;
  readonly parameters?: Parameters;
  /** The 200 response: its JSON Schema, and an example that fits it. */
  readonly response: { readonly description: string; readonly schema: JsonSchema; readonly example: unknown };
  /** Errors that the handler throws. The OpenAPI document lists them after the framework's own. */
  readonly errors?: readonly ErrorKind[];
  /** Checks parameters against each other. Throws an `ApiError`. */
  readonly check?: (input: Input) => void;
}

/** A list that is sent in batches, because it is large: `{ data: snapshot.stream(rows) }`. */
export interface StreamedList<Row = object> {
  readonly data: AsyncIterable<readonly Row[]>;
}

/** A header of a route's 200 response. */
export interface ResponseHeader {
  readonly description: string;
  readonly example: string;
}

/** The second argument of a data route's handler. */
export interface DataContext {
  readonly snapshot: SnapshotReader;
  /** Sets a header that the route declares. It is cached with the body and is part of a 304. */
  setHeader(name: string, value: string): void;
  /** A relative URL of this request with some parameters changed: `?limit=5&after=x`. */
  reference(changes: Readonly<Record<string, ParameterValue>>): string;
}

/** A route whose response depends only on its input and the snapshot. It is cached until the next snapshot. */
export interface DataRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'data';
  readonly response: RouteBase<Input>['response'] & {
    /** By name. Web pages of other origins can read them. */
    readonly headers?: Readonly<Record<string, ResponseHeader>>;
  };
  /**
   * The properties of each row that are sent, in this order. The handler returns whole rows. Undefined: all
   * properties.
   */
  readonly columns?: (input: Input) => readonly string[] | undefined;
  /**
   * Rewrites the input so that equivalent requests have equal inputs, such as lists of values in another order. They
   * then share a cached response. Runs after `check`.
   */
  readonly normalize?: (input: Input) => Input;
  /**
   * Like `normalize`, for requests that are equivalent only in this snapshot, such as a date before its first value.
   * Not called for cached responses.
   */
  readonly normalizeIn?: (input: Input, snapshot: SnapshotReader) => Promise<Input>;
  /** Whether the route has the parameter `as_of`. The handler then gets the snapshot of that date. Default: false. */
  readonly vintages?: boolean;
  /**
   * Resolves with a value that fits the response's schema. If the schema has only the property `data`, the value may be
   * a `StreamedList`: the response has the same bytes.
   */
  handler(input: Input, context: DataContext): Promise<unknown>;
}

/** The key of a caller. Its text is secret and not included. */
export interface CallerKey {
  readonly id: string;
  readonly tier: string;
}

/** The limit and quotas of a caller. */
export interface CallerAccount {
  /** The `caller` of `Limiter.take`. A key and its successors after rotation share it. */
  readonly id: string;
  readonly tier: string;
  /** Requests per minute. */
  readonly limit: number;
  readonly quotas: Quotas;
}

/** The request, for handlers of service routes. */
export interface ServiceRequest {
  /** Null without a valid key, and if all callers share the response. */
  readonly caller: CallerKey | null;
  /** Null if the caller's usage is not counted, and if all callers share the response. */
  readonly account: CallerAccount | null;
  /**
   * What precedes every path of the service for this client: the setting `server.publicUrl`, a path that a proxy strips,
   * or an empty string. Empty if all callers share the response and the setting is absent.
   */
  readonly publicUrl: string;
  /** By lower-case name, without credentials and cookies. Empty if all callers share the response. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** A route whose response depends on the state of the service, and on the request unless all callers share it. */
export interface ServiceRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'service';
  /** How long all callers and replicas share one response, which public caches may store. Default: not at all. */
  readonly sharedSeconds?: number;
  /** Whether valid requests count against a limit. Invalid requests always do. Default: true. */
  readonly limited?: boolean;
  handler(input: Input, context: ServiceRequest & { readonly state: ServiceState }): Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: one list has routes of all input types
export type Route = DataRoute<any> | ServiceRoute<any>;
