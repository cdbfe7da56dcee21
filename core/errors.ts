/** The one table of errors that clients may see, and the errors that cross the inner boundaries. */

/** A kind of error: what a client sees, and when. */
export interface ErrorKind {
  readonly code: string;
  readonly status: number;
  /** The default sentence; it says what to do next. */
  readonly sentence: string;
  /** For the documentation: when it is answered. */
  readonly when: string;
}

const kind = <C extends string>(code: C, status: number, sentence: string, when: string) => ({
  code,
  status,
  sentence,
  when,
});

/** The framework's own errors. Plugins add theirs with `defineError`. */
export const errors = {
  missing_parameter: kind(
    'missing_parameter',
    400,
    'A required parameter is missing.',
    'A required parameter is absent.',
  ),
  invalid_parameter: kind(
    'invalid_parameter',
    400,
    'A part of the request is not valid.',
    'A parameter has the wrong type, range, pattern or calendar date, or is given twice; or the request itself is malformed.',
  ),
  unknown_parameter: kind(
    'unknown_parameter',
    400,
    'This endpoint has no such query parameter.',
    'A query parameter that the endpoint does not have.',
  ),
  missing_api_key: kind(
    'missing_api_key',
    401,
    'Send an API key in the header "Authorization: Bearer <API_KEY>".',
    'The request carries no credentials.',
  ),
  invalid_api_key: kind(
    'invalid_api_key',
    401,
    'The API key is not valid. Check that it is complete, current and sent as "Authorization: Bearer <API_KEY>".',
    'The key is malformed, unknown, expired, revoked or not entitled.',
  ),
  route_not_found: kind(
    'route_not_found',
    404,
    'There is nothing at this address. The list of endpoints is in openapi.json.',
    'The path is not one of the service.',
  ),
  snapshot_not_found: kind(
    'snapshot_not_found',
    404,
    'There is no snapshot of this date. Leave "as_of" out for the current one.',
    'The store keeps no snapshot that was current at the date `as_of`, or keeps the current snapshot only.',
  ),
  method_not_allowed: kind(
    'method_not_allowed',
    405,
    'This API is read-only: use GET, HEAD or OPTIONS.',
    'Any method but GET, HEAD and OPTIONS.',
  ),
  not_acceptable: kind(
    'not_acceptable',
    406,
    'The Accept header excludes everything that this endpoint offers. Send "Accept: application/json".',
    'The `Accept` header excludes everything that the endpoint offers.',
  ),
  uri_too_long: kind('uri_too_long', 414, 'The request target is too long.', 'The request target is too long.'),
  headers_too_large: kind(
    'headers_too_large',
    431,
    'The request headers are too large.',
    'The request headers are too large.',
  ),
  rate_limited: kind(
    'rate_limited',
    429,
    'Too many requests. Try again after the seconds in Retry-After.',
    'The limit of requests per minute is used up.',
  ),
  internal_error: kind(
    'internal_error',
    500,
    'Something went wrong on our side. Report it with the X-Request-Id of this response.',
    'An unexpected fault; its cause is in the log under the request id.',
  ),
  service_unavailable: kind(
    'service_unavailable',
    503,
    'The service cannot answer right now. Try again after the seconds in Retry-After.',
    'Overload, shutdown, or storage that cannot be read.',
  ),
} as const satisfies Record<string, ErrorKind>;

/** Declares an error of a plugin. Statuses are 4xx. */
export const defineError = (definition: ErrorKind): ErrorKind => definition;

/** One fault of a request, for the `details` of a 400. */
export interface ErrorDetail {
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly name: string;
  readonly issue: string;
}

/**
 * Errors that plugins and adapters throw across the boundary. They are told by name, so that a package with its own
 * copy of this one is understood too.
 */
class BoundaryError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: the class that is asked for, not this one
    return value instanceof Error && value.name === this.name;
  }

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An error meant for the client. Everything else that is thrown, http-errors excepted, becomes `internal_error`. */
export class ApiError extends BoundaryError {
  /** As http-errors have them, for middleware that catch errors by `status`. */
  readonly status: number;
  readonly statusCode: number;
  readonly expose = true;

  constructor(
    readonly kind: ErrorKind,
    /** The sentence shown to the client; the kind's own by default. */
    sentence: string = kind.sentence,
    readonly options: {
      readonly details?: readonly ErrorDetail[];
      readonly headers?: Readonly<Record<string, string>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(sentence, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = kind.status;
    this.statusCode = kind.status;
  }
}

export type StorageErrorCode =
  /** The backend cannot be reached or has not answered in time; it may come back by itself. */
  | 'unavailable'
  /** The caller's signal was aborted. */
  | 'aborted'
  /** The adapter has been closed. */
  | 'closed'
  /** The collection was not declared. */
  | 'unknown_collection'
  /** The query asks for something that its collection does not declare. */
  | 'invalid_query'
  /** The dataset breaks a rule, or could not be read whole. */
  | 'invalid_dataset'
  /** Another publication, or a version of the same name, stands in the way. */
  | 'conflict'
  /** There is no such version. */
  | 'unknown_version';

/** What a storage adapter rejects with. The message is for the log, never for clients. */
export class StorageError extends BoundaryError {
  constructor(
    readonly code: StorageErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** A limiter that is to refuse while its store is away. */
export class LimiterUnavailable extends BoundaryError {}

/** A key store that cannot answer (`unavailable`), has no such id (`unknown_key`), or two of one (`conflict`). */
export class KeyStoreError extends BoundaryError {
  constructor(
    readonly code: 'unavailable' | 'unknown_key' | 'conflict' | 'invalid_file',
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** A mistake of the operator's: shown as it is, without a stack trace, one line a fault. */
export class OperatorError extends Error {
  constructor(
    readonly heading: string,
    readonly faults: readonly string[] = [],
    options?: { cause?: unknown },
  ) {
    super([heading, ...faults.map((fault) => `  - ${fault}`)].join('\n'), options);
    this.name = 'OperatorError';
  }
}
