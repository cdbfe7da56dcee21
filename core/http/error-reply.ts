/** Turns whatever was thrown into the one error body; what clients must not see goes to the log. */
import type { Logger } from '../contracts/runtime.js';
import { ApiError, errors, KeyStoreError, LimiterUnavailable, StorageError } from '../errors.js';
import { maskKeys } from '../keys/mask-keys.js';
import type { Reply } from './exchange.js';
import { linesOf } from './head.js';
import { JSON_TYPE, payloadOf } from './representation.js';

/** Seconds after which a client may try again when a store is away: they are back within two, usually. */
const RETRY_AFTER_SECONDS = '2';

/** Errors of the inner boundaries that a client may see as something other than `internal_error`. */
const asApiError = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  const away =
    error instanceof LimiterUnavailable ||
    (error instanceof KeyStoreError && error.code === 'unavailable') ||
    (error instanceof StorageError && (error.code === 'unavailable' || error.code === 'closed'));
  return away
    ? new ApiError(errors.service_unavailable, undefined, { cause: error })
    : new ApiError(errors.internal_error, undefined, { cause: error });
};

export const errorBody = (error: ApiError): Buffer => {
  const text = JSON.stringify({
    error: error.message,
    code: error.kind.code,
    ...(error.kind.status === 400 && error.options.details ? { details: error.options.details } : {}),
  });
  // A key in the wrong place is named by errors about that place, which people paste into tickets and chats.
  return Buffer.from(maskKeys(text));
};

/** @throws TypeError where one of these further fields may not be in a head */
export const errorHead = (body: Buffer, more: Readonly<Record<string, string>>): string =>
  linesOf({ 'Content-Type': JSON_TYPE, 'Content-Length': String(body.length), 'Cache-Control': 'no-store', ...more });

export const errorReply = (thrown: unknown, logger: Logger, requestId: string): Reply => {
  const error = asApiError(thrown);
  const { status } = error.kind;
  if (status === 500) logger.error({ err: thrown, requestId }, 'a request failed');
  else if (status === 503) logger.warn({ err: error.options.cause ?? error, requestId }, 'a request was turned away');
  const body = errorBody(error);
  const more = { ...(status === 503 && { 'Retry-After': RETRY_AFTER_SECONDS }), ...error.options.headers };
  try {
    return { status, head: errorHead(body, more), body: payloadOf(body) };
  } catch (fault) {
    // A plugin's error may bring headers that no head may have.
    return errorReply(fault, logger, requestId);
  }
};
