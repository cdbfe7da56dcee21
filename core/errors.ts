/** The one table of errors that clients may see, and the errors that cross the inner boundaries. */

/** A kind of error: what a client sees, and when. */
export interface ErrorKind {
  readonly code: string;
  readonly status: number;
  /** The default sentence; it says what to do next. */
  readonly sentence: string;
  /** When the error occurs, for the documentation. */
  readonly when: string;
}

/** Gives each kind of error the code that it is listed by. */
const withCodes = <Code extends string>(kinds: Readonly<Record<Code, Omit<ErrorKind, 'code'>>>) =>
  Object.fromEntries(
    Object.entries<Omit<ErrorKind, 'code'>>(kinds).map(([code, kind]) => [code, { code, ...kind }]),
  ) as { readonly [C in Code]: ErrorKind & { readonly code: C } };

/** The framework's own errors. Plugins add theirs with `defineError`. */
export const errors = withCodes({
  missing_parameter: {
    status: 400,
    sentence: 'A required parameter is missing.',
    when: 'A required parameter is absent.',
  },
  invalid_parameter: {
    status: 400,
    sentence: 'A part of the request is not valid.',
    when: 'A parameter has the wrong type, range, pattern or calendar date, or is given twice; or the request itself is malformed.',
  },
  unknown_parameter: {
    status: 400,
    sentence: 'This endpoint has no such query parameter.',
    when: 'A query parameter that the endpoint does not have.',
  },
  missing_api_key: {
    status: 401,
    sentence: 'Send an API key in the header "Authorization: Bearer <API_KEY>".',
    when: 'The request carries no credentials.',
  },
  invalid_api_key: {
    status: 401,
    sentence:
      'The API key is not valid. Check that it is complete, current and sent as "Authorization: Bearer <API_KEY>".',
    when: 'The key is malformed, unknown, expired, revoked or not entitled.',
  },
  not_in_tier: {
    status: 403,
    sentence: 'The tier of this API key does not include this endpoint. GET /usage says which tier it is.',
    when: 'The key is valid, and its tier does not include the endpoint.',
  },
  route_not_found: {
    status: 404,
    sentence: 'There is nothing at this address. The list of endpoints is in openapi.json.',
    when: 'The path is not one of the service.',
  },
  snapshot_not_found: {
    status: 404,
    sentence: 'There is no snapshot of this date. Leave "as_of" out for the current one.',
    when: 'The store keeps no snapshot that was current at the date `as_of`, or keeps the current snapshot only.',
  },
  method_not_allowed: {
    status: 405,
    sentence: 'This API is read-only: use GET, HEAD or OPTIONS.',
    when: 'Any method but GET, HEAD and OPTIONS.',
  },
  not_acceptable: {
    status: 406,
    sentence: 'The Accept header excludes everything that this endpoint offers. Send "Accept: application/json".',
    when: 'The `Accept` header excludes everything that the endpoint offers.',
  },
  uri_too_long: {
    status: 414,
    sentence: 'The request target is too long.',
    when: 'The request target is too long.',
  },
  headers_too_large: {
    status: 431,
    sentence: 'The request headers are too large.',
    when: 'The request headers are too large.',
  },
  rate_limited: {
    status: 429,
    sentence: 'Too many requests. Try again after the seconds in Retry-After.',
    when: 'The limit of requests per minute is used up.',
  },
  quota_exceeded: {
    status: 429,
    sentence:
      'The quota of requests is used up. Try again after the seconds in Retry-After; GET /usage says what was used.',
    when: 'The quota of requests of the UTC day or month is used up.',
  },
  internal_error: {
    status: 500,
    sentence: 'Something went wrong on our side. Report it with the X-Request-Id of this response.',
    when: 'An unexpected fault; its cause is in the log under the request id.',
  },
  service_unavailable: {
    status: 503,
    sentence: 'The service cannot answer right now. Try again after the seconds in Retry-After.',
    when: 'Overload, shutdown, or storage that cannot be read.',
  },
});

/** Declares an error of a plugin. Statuses are 4xx. */
export const defineError = (definition: ErrorKind): ErrorKind => definition;

/** One fault of a request, for the `details` of a 400. */
export interface ErrorDetail {
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly name: string;
  readonly issue: string;
}

/**
 * Errors that plugins and adapters throw across the boundary. They are recognised by name, so that errors of a package
 * with its own copy of this one count too.
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
  /** Also a property of http-errors, by which other middleware tell errors. */
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

/**
 * The 400 of a parameter with a wrong value.
 * @param issue what is wrong, and what would be right, as it follows the parameter's name: `must be an integer`
 */
export const invalidParameter = (place: 'path' | 'query', name: string, issue: string): ApiError =>
  new ApiError(errors.invalid_parameter, `The ${place} parameter "${name}" ${issue}${issue.endsWith('?') ? '' : '.'}`, {
    details: [{ in: place, name, issue }],
  });

export type StorageErrorCode =
  /** The backend cannot be reached or has not responded in time; it may recover by itself. */
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
  /** Another publication is under way, or a version of this name exists. */
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

/** Rejection of a limiter with the policy `closed` while its store is away. */
export class LimiterUnavailable extends BoundaryError {}

/**
 * What a key store rejects with: it is away (`unavailable`), the id is unknown (`unknown_key`) or exists (`conflict`).
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

/** The first lines, and how many more there are. */
export const firstLines = (lines: readonly string[], most: number): readonly string[] =>
  lines.length <= most ? lines : [...lines.slice(0, most), `and ${lines.length - most} more`];

/** A mistake of the operator: shown without a stack trace, one line a fault. */
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
