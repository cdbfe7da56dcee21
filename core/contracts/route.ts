/** Routes: the endpoints of the data API. */
import type { ErrorKind } from '../errors.js';
import type { JsonSchema } from './json-schema.js';
import type { Quotas } from './limiter.js';
import type { SnapshotReader } from './snapshot-reader.js';
import type { ServiceState } from './state.js';
import type { Scalar } from './storage.js';

/** The value of a parameter. An array contains each value once, in the order of the request. */
export type ParameterValue = Scalar | boolean | readonly Scalar[];

/** A parameter of a route. Its values are validated before a handler gets them. */
export interface Parameter {
  readonly description: string;
  /**
   * The type must be `string`, `integer`, `number` or `boolean`, or `array` for comma-separated values whose `items`
   * have one of those types. Other keywords are allowed. `default` is used if the parameter is absent.
   */
  readonly schema: JsonSchema;
  /** Only for query parameters, because path parameters are always required. */
  readonly required?: boolean;
  readonly example?: ParameterValue;
  /** The allowed values in words, to follow "must be" in the message about another value. Default: from the schema. */
  readonly allowed?: string;
  /**
   * Where callers find valid values. For each operationId, a JSON Pointer (RFC 6901) into the response of that
   * operation. The OpenAPI document links the two operations. Operations that do not exist in the service are ignored.
   */
  readonly foundIn?: Readonly<Record<string, string>>;
}

/** The parameters of a route by name. */
export interface Parameters {
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  /**
   * The columns by which requests can filter, with the schemas of their values: the `filterColumns` of a collection.
   * `price[gte]=6` becomes the property `price[gte]` of the input, and `conditionsOf` reads all such properties.
   * `price=6` is short for `price[eq]=6`, `price_from` for `price[gte]`, and `price_to` for `price[lte]`, unless
   * another parameter or column has that name.
   */
  readonly filters?: Readonly<Record<string, JsonSchema>>;
}

interface RouteBase<Input> {
  /** The path relative to the base path, with parameters in braces: `/markets/{cbsa}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Whether requests need an API key. Default: true. */
  readonly key?: boolean;
  readonly parameters?: Parameters;
  /** The 200 response: its JSON Schema, and an example that conforms to it. */
  readonly response: { readonly description: string; readonly schema: JsonSchema; readonly example: unknown };
  /** The errors that the handler can throw. The OpenAPI document lists them after the framework's own errors. */
  readonly errors?: readonly ErrorKind[];
  /** Validates combinations of parameters. Throws an `ApiError`. */
  readonly check?: (input: Input) => void;
}

/** A list that is sent in batches because it may be large: `{ data: snapshot.stream(rows) }`. */
export interface StreamedList<Row = object> {
  readonly data: AsyncIterable<readonly Row[]>;
}

/** A header of the 200 response of a route. */
export interface ResponseHeader {
  readonly description: string;
  readonly example: string;
}

/** The second argument of a data route's handler. */
export interface DataContext {
  readonly snapshot: SnapshotReader;
  /** Sets a header that the route declares. The header is cached with the body and also sent with a 304. */
  setHeader(name: string, value: string): void;
  /** Returns the relative URL of this request with some parameters changed: `?limit=5&after=x`. */
  reference(changes: Readonly<Record<string, ParameterValue>>): string;
}

/** A route whose response depends only on its input and the snapshot, so it is cached until the next snapshot. */
export interface DataRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'data';
  readonly response: RouteBase<Input>['response'] & {
    /** The response headers by name. Web pages of other origins can read them. */
    readonly headers?: Readonly<Record<string, ResponseHeader>>;
  };
  /**
   * Chooses which properties of each row are sent, and in which order. The handler still returns whole rows. Undefined
   * means all properties.
   */
  readonly columns?: (input: Input) => readonly string[] | undefined;
  /**
   * Rewrites the input so that equivalent requests, such as lists with the same values in another order, have equal
   * inputs and share a cached response. Runs after `check`.
   */
  readonly normalize?: (input: Input) => Input;
  /**
   * Like `normalize`, for requests that are equivalent only in this snapshot. Example: two dates that both precede the
   * first value. Not called for cached responses.
   */
  readonly normalizeIn?: (input: Input, snapshot: SnapshotReader) => Promise<Input>;
  /** Whether the route has the parameter `as_of`. The handler then gets the snapshot of that date. Default: false. */
  readonly vintages?: boolean;
  /**
   * Resolves with a value that conforms to the response schema. If `data` is the only property of that schema, the
   * value may be a `StreamedList` instead. The response is the same, byte for byte.
   */
  handler(input: Input, context: DataContext): Promise<unknown>;
}

/** A caller's API key. Its text is secret and therefore not included. */
export interface CallerKey {
  readonly id: string;
  readonly tier: string;
}

/** The limit and quotas of a caller. */
export interface CallerAccount {
  /** The `caller` argument of `Limiter.take`. A key shares it with its successors after rotation. */
  readonly id: string;
  readonly tier: string;
  /** Requests per minute. */
  readonly limit: number;
  readonly quotas: Quotas;
}

/** The request that handlers of service routes receive. */
export interface ServiceRequest {
  /** Null without a valid key, or if all callers share the response. */
  readonly caller: CallerKey | null;
  /** Null if the caller's usage is not counted, or if all callers share the response. */
  readonly account: CallerAccount | null;
  /**
   * The prefix for every path of the service as this client sees it: the setting `server.publicUrl`, a path that a
   * proxy strips, or an empty string. If all callers share the response, it is the setting or an empty string.
   */
  readonly publicUrl: string;
  /** The headers by lower-case name, without credentials and cookies. Empty if all callers share the response. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** A route whose response depends on the state of the service, and also on the request unless all callers share it. */
export interface ServiceRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'service';
  /**
   * How many seconds all callers, replicas and public caches may share one response. Default: responses are not shared.
   */
  readonly sharedSeconds?: number;
  /** Whether valid requests count against a limit. Invalid requests always do. Default: true. */
  readonly limited?: boolean;
  handler(input: Input, context: ServiceRequest & { readonly state: ServiceState }): Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: one list has routes of all input types
export type Route = DataRoute<any> | ServiceRoute<any>;
