export interface ErrorKind {
  readonly code: string;
  readonly status: number;
  /** The default message, which also explains what the client can do. */
  readonly sentence: string;
  /** The condition that causes the error, for the documentation. */
  readonly when: string;
}

const withCodes = <Code extends string>(kinds: Readonly<Record<Code, Omit<ErrorKind, 'code'>>>) =>
  Object.fromEntries(
    Object.entries<Omit<ErrorKind, 'code'>>(kinds).map(([code, kind]) => [code, { code, ...kind }]),
  ) as { readonly [C in Code]: ErrorKind & { readonly code: C } };

/** The errors of the framework. Plugins define their own with `defineError`. */
export const errors = withCodes({
  missing_parameter: {
    status: 400,
    sentence: 'A required parameter is missing.',
    when: 'A required parameter is absent.',
  },
  invalid_parameter: {
    status: 400,
    sentence: 'Part of the request is not valid.',
    when: 'A parameter has the wrong type, range or pattern, is not a calendar date, or appears twice; or the request itself is malformed.',
  },
  unknown_parameter: {
    status: 400,
    sentence: 'This endpoint has no such query parameter.',
    when: 'The endpoint does not have this query parameter.',
  },
  missing_api_key: {
    status: 401,
    sentence: 'Send an API key in the header "Authorization: Bearer <API_KEY>".',
    when: 'The request has no credentials.',
  },
  invalid_api_key: {
    status: 401,
    sentence:
      'The API key is not valid. Check that it is complete, current and sent as "Authorization: Bearer <API_KEY>".',
    when: 'The key is malformed, unknown, expired or revoked, or its tier no longer exists.',
  },
  not_in_tier: {
    status: 403,
    sentence: 'The tier of this API key does not include this endpoint. GET /usage shows the tier.',
    when: 'The key is valid, but its tier does not include the endpoint.',
  },
  route_not_found: {
    status: 404,
    sentence: 'There is nothing at this address. openapi.json lists all endpoints.',
    when: 'The service has no endpoint with this path.',
  },
  snapshot_not_found: {
    status: 404,
    sentence: 'There is no snapshot for this date. Omit "as_of" to get the current snapshot.',
    when: 'The store has no snapshot that was current on the date `as_of`. Some stores keep only the current snapshot.',
  },
  method_not_allowed: {
    status: 405,
    sentence: 'This API is read-only: use GET, HEAD or OPTIONS.',
    when: 'The method is not GET, HEAD or OPTIONS.',
  },
  not_acceptable: {
    status: 406,
    sentence: 'The Accept header excludes everything that this endpoint offers. Send "Accept: application/json".',
    when: 'The `Accept` header excludes everything that the endpoint offers.',
  },
  uri_too_long: {
    status: 414,
    sentence: 'The request target is too long. Shorten its path or its query.',
    when: 'The request target is too long.',
  },
  headers_too_large: {
    status: 431,
    sentence: 'The request headers are too large. Send fewer or shorter headers.',
    when: 'The request headers are too large.',
  },
  rate_limited: {
    status: 429,
    sentence: 'Too many requests. Try again after the number of seconds in Retry-After.',
    when: 'The limit on requests per minute was reached.',
  },
  quota_exceeded: {
    status: 429,
    sentence:
      'The request quota is used up. Try again after the number of seconds in Retry-After. GET /usage shows your usage.',
    when: 'The request quota for the UTC day or month is used up.',
  },
  internal_error: {
    status: 500,
    sentence: 'Something went wrong on our side. Report it with the X-Request-Id of this response.',
    when: 'An unexpected error occurred. The log contains its cause, with the request id.',
  },
  service_unavailable: {
    status: 503,
    sentence: 'The service cannot answer right now. Try again after the number of seconds in Retry-After.',
    when: 'The service is overloaded or shutting down, or it cannot read its storage.',
  },
});

/**
 * The reads for one response exceeded the timeout. Clients see the same code as for an unavailable store, because a
 * retry might succeed. The metrics count it separately.
 */
export const readTimeout: ErrorKind = { ...errors.service_unavailable };

/** Declares an error that a plugin sends to clients. The status must be 4xx. */
export const defineError = (definition: ErrorKind): ErrorKind => definition;

export interface ErrorDetail {
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly name: string;
  readonly issue: string;
}

/**
 * The base class of errors that plugins and adapters throw. Their packages can contain another copy of this class, so
 * `instanceof` compares class names instead of prototypes.
 */
class BoundaryError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: `this` is the subclass
    return value instanceof Error && value.name === this.name;
  }

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/**
 * An error whose message is sent to the client. All other errors become `internal_error`, except errors from
 * http-errors.
 */
export class ApiError extends BoundaryError {
  /** Koa reads `status`, and http-errors reads `statusCode`. */
  readonly status: number;
  readonly statusCode: number;
  readonly expose = true;

  constructor(
    readonly kind: ErrorKind,
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

/**
 * Creates a 400 error for an invalid parameter.
 * @param issue the rest of a sentence that starts with the parameter's name, such as `must be an integer`
 */
export const invalidParameter = (place: 'path' | 'query', name: string, issue: string): ApiError =>
  new ApiError(errors.invalid_parameter, `The ${place} parameter "${name}" ${issue}${issue.endsWith('?') ? '' : '.'}`, {
    details: [{ in: place, name, issue }],
  });

export type StorageErrorCode =
  /** The backend is unreachable or did not respond in time. A retry might succeed. */
  | 'unavailable'
  /** The caller's signal was aborted. */
  | 'aborted'
  /** The adapter has been closed. */
  | 'closed'
  /** The collection was not declared. */
  | 'unknown_collection'
  /** The query uses a field or order that the collection does not declare. */
  | 'invalid_query'
  /** The dataset is invalid or could not be read completely. */
  | 'invalid_dataset'
  /** Another publication is in progress, or a version with the same name has different content. */
  | 'conflict'
  /** The version does not exist. */
  | 'unknown_version';

/** Thrown by storage adapters. The message is logged but never sent to clients. */
export class StorageError extends BoundaryError {
  constructor(
    readonly code: StorageErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Thrown by a limiter with the policy `closed`, which rejects requests while its store is unreachable. */
export class LimiterUnavailable extends BoundaryError {}

/**
 * Thrown by key stores. The code is `unavailable` if the store is unreachable, `invalid_file` if its file is damaged,
 * `unknown_key` if no key has the id, and `conflict` if the id is already in use.
 */
export class KeyStoreError extends BoundaryError {
  constructor(
    readonly code: 'unavailable' | 'unknown_key' | 'conflict' | 'invalid_file',
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

export const firstLines = <T>(
  items: readonly T[],
  most: number,
  describe: (item: T) => string = String,
): readonly string[] => [
  ...items.slice(0, most).map((item) => describe(item)),
  ...(items.length > most ? [`and ${items.length - most} more`] : []),
];

/** An error that the operator can fix, such as an invalid configuration. It is printed without a stack trace. */
export class OperatorError extends Error {
  constructor(
    readonly heading: string,
    readonly errors: readonly string[] = [],
    options?: { cause?: unknown },
  ) {
    super([heading, ...errors.map((error) => `  - ${error}`)].join('\n'), options);
    this.name = 'OperatorError';
  }
}
