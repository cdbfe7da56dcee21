import type { ErrorKind } from '../errors.js';
import type { JsonSchema } from './json-schema.js';
import type { Quotas } from './limiter.js';
import type { SnapshotReader } from './snapshot-reader.js';
import type { ServiceState } from './state.js';
import type { Scalar } from './storage.js';

/** The value of a request parameter. Arrays keep the order of the request without duplicates. */
export type ParameterValue = Scalar | boolean | readonly Scalar[];

/** A parameter of a route. The framework validates parameter values before it calls the handler. */
export interface Parameter {
  readonly description: string;
  /**
   * JSON Schema for the value of the parameter. The type must be `string`, `integer`, `number` or `boolean`, or, for
   * comma-separated values, `array` with `items` of one of these types. All other keywords are allowed. Missing
   * parameters get the value of `default`.
   */
  readonly schema: JsonSchema;
  /** True if requests must contain the query parameter. Path parameters are always required. */
  readonly required?: boolean;
  readonly example?: ParameterValue;
  /**
   * Describes the allowed values in error messages: the text that follows "must be". Default: derived from the schema.
   */
  readonly allowed?: string;
  /**
   * Operations whose responses contain valid values of the parameter. Maps each operationId to the JSON Pointer (RFC
   * 6901) of the value in the response. The OpenAPI document contains these links. It omits operations that the service
   * does not have.
   */
  readonly foundIn?: Readonly<Record<string, string>>;
}

export interface Parameters {
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  /**
   * The columns that requests can filter by, each with a schema for its values. Usually `filterColumns(collection)`.
   * The query `price[gte]=6` sets the input property `price[gte]`. Handlers pass their input to `conditionsOf`, which
   * reads all these properties. Short forms: `price=6` means `price[eq]=6`, `price_from` means `price[gte]`, and
   * `price_to` means `price[lte]`. A parameter or column with the name of a short form takes precedence.
   */
  readonly filters?: Readonly<Record<string, JsonSchema>>;
}

interface RouteBase<Input> {
  /** The path relative to the base path, with parameters in braces, such as `/markets/{cbsa}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** True if requests need an API key. Default: true. */
  readonly key?: boolean;
  readonly parameters?: Parameters;
  /** The 200 response, with a JSON Schema and an example that conforms to the schema. */
  readonly response: { readonly description: string; readonly schema: JsonSchema; readonly example: unknown };
  /** The errors that the handler can throw. The OpenAPI document lists them after the framework's own errors. */
  readonly errors?: readonly ErrorKind[];
  /** Validates combinations of parameters. Throws an `ApiError` if a combination is invalid. */
  readonly check?: (input: Input) => void;
}

/** A list that is sent in batches because it can be large. Example: `{ data: snapshot.stream(rows) }` */
export interface StreamedList<Row = object> {
  readonly data: AsyncIterable<readonly Row[]>;
}

export interface ResponseHeader {
  readonly description: string;
  readonly example: string;
}

export interface DataContext {
  readonly snapshot: SnapshotReader;
  /**
   * Sets a response header that the route declares. The header is cached with the body, and is also sent with a 304.
   */
  setHeader(name: string, value: string): void;
  /** Returns the relative URL of this request with some parameters changed, such as `?limit=5&after=x`. */
  reference(changes: Readonly<Record<string, ParameterValue>>): string;
}

/**
 * A route whose response depends only on its parameters and the snapshot. Responses are cached until the next snapshot.
 */
export interface DataRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'data';
  readonly response: RouteBase<Input>['response'] & {
    /** Response headers by name, which pages from other origins can also read (CORS). */
    readonly headers?: Readonly<Record<string, ResponseHeader>>;
  };
  /**
   * Selects the properties of each row that are sent, and their order. The handler still returns whole rows. Undefined
   * selects all properties.
   */
  readonly columns?: (input: Input) => readonly string[] | undefined;
  /**
   * Maps equivalent inputs to the same input, so that they share a cached response. For example, the function can sort
   * a list of parameter values. Runs after `check`.
   */
  readonly normalize?: (input: Input) => Input;
  /**
   * Like `normalize`, for inputs that are equivalent only in this snapshot. Example: two dates before the first value
   * in the data. Not called for cached responses.
   */
  readonly normalizeIn?: (input: Input, snapshot: SnapshotReader) => Promise<Input>;
  /**
   * True if the route accepts the parameter `as_of`. The handler then receives the snapshot for that date. Default:
   * false.
   */
  readonly vintages?: boolean;
  /**
   * Resolves with a value that conforms to the response schema. If `data` is the only property of the response, the
   * handler can resolve with a `StreamedList` instead. Clients receive the same bytes.
   */
  handler(input: Input, context: DataContext): Promise<unknown>;
}

export interface CallerKey {
  readonly id: string;
  readonly tier: string;
}

export interface CallerAccount {
  /** The id that the framework passes to `Limiter.take`. A rotated key and its successors share this id. */
  readonly id: string;
  readonly tier: string;
  /** The rate limit in requests per minute. */
  readonly limit: number;
  readonly quotas: Quotas;
}

export interface ServiceRequest {
  /** The caller's API key. Null if the request has no valid key, or if all callers share the response. */
  readonly caller: CallerKey | null;
  /**
   * The account that the request counts against. Null if usage is not counted, or if all callers share the response.
   */
  readonly account: CallerAccount | null;
  /**
   * The prefix of links to the service: the setting `server.publicUrl`, or the path prefix that a proxy removes from
   * requests. Empty if neither exists. Responses that all callers share never contain the prefix of a proxy.
   */
  readonly publicUrl: string;
  /** Request headers by lower-case name, without credentials and cookies. Empty if all callers share the response. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/**
 * A route whose response depends on the state of the service. The response can also depend on the request, unless all
 * callers share it.
 */
export interface ServiceRoute<Input = Record<string, never>> extends RouteBase<Input> {
  readonly kind: 'service';
  /**
   * How long callers, replicas and public caches can share a response, in seconds. The route must not have parameters.
   * Default: responses are not shared.
   */
  readonly sharedSeconds?: number;
  /** True if valid requests count against the rate limit. Invalid requests always count. Default: true. */
  readonly limited?: boolean;
  handler(input: Input, context: ServiceRequest & { readonly state: ServiceState }): Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: one list has routes of all input types
export type Route = DataRoute<any> | ServiceRoute<any>;
