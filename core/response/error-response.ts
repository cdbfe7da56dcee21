import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, type ErrorKind, errors, KeyStoreError, LimiterUnavailable, StorageError } from '../errors.js';
import { maskKeys } from '../keys/key.js';
import { JSON_TYPE } from './formats.js';
import { allowOf, type CommonHeaders, linesOf, mergedHeaders, newRequestId, READ_METHODS } from './headers.js';
import { Prepared, payloadOf } from './representation.js';
import { FastResponse, send, setHead } from './writer.js';

interface ErrorContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestState: { readonly id: string };
  body: unknown;
}

const HTML_TYPE = 'text/html; charset=utf-8';

/** Stores are usually unavailable for at most two seconds. */
const RETRY_AFTER_SECONDS = '2';

/** The most generic error of each status. The message of `not_in_tier` is too specific for other 403 responses. */
const KINDS_BY_STATUS: ReadonlyMap<number, ErrorKind> = new Map(
  [...Object.values(errors).toReversed(), errors.invalid_parameter, errors.invalid_api_key, errors.route_not_found]
    .filter((kind) => kind !== errors.not_in_tier)
    .map((kind) => [kind.status, kind]),
);

/** If no error is defined for a status, the code is derived from the reason phrase, such as `gone` for 410. */
const kindOf = (status: number): ErrorKind => {
  const known = KINDS_BY_STATUS.get(status);
  if (known) return known;
  const reason = STATUS_CODES[status]!;
  const code = reason.toLowerCase().replace(/[^a-z0-9]+/g, '_');
  const sentence = status >= 500 ? errors.internal_error.sentence : `The request was rejected: ${reason}.`;
  return { code, status, sentence, when: reason };
};

interface HttpError {
  readonly status: number;
  readonly message: string;
  readonly expose: boolean | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

const asHttpError = (error: unknown): HttpError | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { status, statusCode, message, expose, headers } = error as Partial<HttpError> & {
    readonly statusCode?: unknown;
  };
  const given = typeof status === 'number' ? status : statusCode;
  const isError = typeof given === 'number' && given >= 400 && STATUS_CODES[given] !== undefined;
  return isError ? { status: given, message: String(message), expose, headers } : undefined;
};

/** The headers of a thrown error, except `Content-Type` and `Content-Length`. */
const headersOf = ({ headers = {} }: Partial<HttpError>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !/^content-(type|length)$/i.test(name))
      .map(([name, value]) => [name, String(value)]),
  );

const asApiError = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  const isUnavailable =
    error instanceof LimiterUnavailable ||
    (error instanceof KeyStoreError && error.code === 'unavailable') ||
    (error instanceof StorageError && (error.code === 'unavailable' || error.code === 'closed'));
  if (isUnavailable) return new ApiError(errors.service_unavailable, undefined, { cause: error });
  const http = asHttpError(error);
  if (!http) return new ApiError(errors.internal_error, undefined, { cause: error });
  const sentence = http.expose && http.message !== '' ? http.message : undefined;
  return new ApiError(kindOf(http.status), sentence, { ...(http.headers && { headers: http.headers }), cause: error });
};

const errorBody = (error: ApiError): Buffer => {
  const text = JSON.stringify({
    error: error.message,
    code: error.kind.code,
    ...(error.kind.status === 400 && error.options.details ? { details: error.options.details } : {}),
  });
  // Users paste error messages into tickets. A message might contain a key that the client sent in the wrong place.
  return Buffer.from(maskKeys(text));
};

const errorHead = (body: Buffer, more: Readonly<Record<string, string>>, type = JSON_TYPE): string =>
  linesOf(
    mergedHeaders({ 'Content-Type': type, 'Content-Length': String(body.length), 'Cache-Control': 'no-store' }, more),
  );

export type Page = (error: ApiError) => string;

const reasonOf = ({ message, options: { cause } }: ApiError): string =>
  cause instanceof Error ? cause.message : message;

/** @param page formats the error. Default: as JSON */
export const errorResponse = (thrown: unknown, logger: Logger, requestId: string, page?: Page): Prepared => {
  const error = asApiError(thrown);
  const { status } = error.kind;
  // The error is logged without a stack trace, because every request fails in the same way while a store is
  // unavailable.
  if (status === 503) logger.warn({ reason: reasonOf(error), requestId }, 'a request was rejected');
  else if (status >= 500) logger.error({ err: thrown, requestId }, 'a request failed');
  const body = page ? Buffer.from(maskKeys(page(error))) : errorBody(error);
  const more = mergedHeaders(status === 503 ? { 'Retry-After': RETRY_AFTER_SECONDS } : {}, headersOf(error.options));
  try {
    return new Prepared(status, errorHead(body, more, page && HTML_TYPE), payloadOf(body));
  } catch (invalidHeader) {
    return errorResponse(invalidHeader, logger, requestId, page);
  }
};

export const statusError = (status: number): ApiError => new ApiError(kindOf(status));

const INCOMPLETE_BODY = 'The connection closed before the request body was complete.';

/**
 * If the client disconnects while it sends the body, Node reports a socket error, which is not an error of the service.
 */
const withoutBrokenBody = ({ req }: ErrorContext, error: unknown): unknown =>
  error !== null && error === req.errored && !(error instanceof ApiError)
    ? new ApiError(errors.invalid_parameter, INCOMPLETE_BODY, { cause: error })
    : error;

/**
 * Responds with an error. Closes the connection instead if the response headers have already been sent.
 * @param page formats the error. Default: as JSON
 */
export const setError = (ctx: ErrorContext, error: unknown, logger: Logger, page?: Page): void => {
  const body = errorResponse(withoutBrokenBody(ctx, error), logger, ctx.requestState.id, page);
  if (ctx.res.headersSent) {
    ctx.res.destroy();
    return;
  }
  removeBodyHeaders(ctx.res);
  ctx.body = body;
};

const ABOUT_THE_BODY = [
  'Accept-Ranges',
  'Age',
  'Cache-Control',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Length',
  'Content-Range',
  'Content-Type',
  'ETag',
  'Expires',
  'Last-Modified',
  'Location',
  'Snapshot-Version',
  'Transfer-Encoding',
];

const removeBodyHeaders = (response: ServerResponse): void => {
  if (response instanceof FastResponse && !response.isOrdinary) return;
  for (const name of ABOUT_THE_BODY) response.removeHeader(name);
};

export interface Rejection {
  toRequest(request: IncomingMessage, response: ServerResponse): void;
  /** Responds to bytes that are not a valid request, and ends the socket. */
  toSocket(socket: Socket): void;
}

/** Builds an error response once, so that sending it is cheap. */
export const rejection = (
  error: ApiError,
  headers: CommonHeaders,
  { more = {}, close = true }: { readonly more?: Readonly<Record<string, string>>; readonly close?: boolean } = {},
): Rejection => {
  const { status } = error.kind;
  const body = errorBody(error);
  const payload = payloadOf(body);
  const head = errorHead(body, more);
  const headFor = (origin: string | undefined): string => head + headers.always(newRequestId(), origin);
  return {
    toRequest(request, response) {
      if (close || request.headers['content-length'] || request.headers['transfer-encoding']) {
        response.shouldKeepAlive = false;
      }
      const prepared = new Prepared(status, headFor(request.headers.origin), payload);
      response.statusCode = status;
      setHead(response, prepared.head);
      send(response, prepared, headers.connectionLines);
    },
    toSocket(socket) {
      socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headFor(undefined)}Connection: close\r\n\r\n${body}`);
    },
  };
};

export const socketRejections = (headers: CommonHeaders) => ({
  malformed: rejection(new ApiError(errors.invalid_parameter, 'The request is not valid HTTP/1.1.'), headers),
  headersTooLarge: rejection(new ApiError(errors.headers_too_large), headers),
  connect: rejection(new ApiError(errors.method_not_allowed), headers, { more: { Allow: allowOf(READ_METHODS) } }),
});
