/** Responses to requests that never reach the Koa application, with the body of every other error. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, errors } from '../errors.js';
import { errorBody, errorHead } from './error-response.js';
import { allowOf, type CommonHeaders } from './headers.js';
import { sendAlone } from './prepared-response.js';
import { Prepared, payloadOf } from './representation.js';
import { newRequestId } from './request-state.js';

interface Refusal {
  /** For a request that Node could parse. */
  toRequest(request: IncomingMessage, response: ServerResponse): void;
  /** For a socket whose bytes are no request; it is closed. */
  toSocket(socket: Socket): void;
}

/** Builds the response once, so that sending it costs little. */
export const refusal = (
  error: ApiError,
  headers: CommonHeaders,
  { more = {}, close = true }: { readonly more?: Readonly<Record<string, string>>; readonly close?: boolean } = {},
): Refusal => {
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
      sendAlone(response, new Prepared(status, headFor(request.headers.origin), payload), headers.connectionLines);
    },
    toSocket(socket) {
      socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headFor(undefined)}Connection: close\r\n\r\n${body}`);
    },
  };
};

/** For requests that Node's parser refuses, before any middleware. */
export const socketRefusals = (headers: CommonHeaders) => ({
  malformed: refusal(new ApiError(errors.invalid_parameter, 'The request is not valid HTTP/1.1.'), headers),
  headersTooLarge: refusal(new ApiError(errors.headers_too_large), headers),
  connect: refusal(new ApiError(errors.method_not_allowed), headers, { more: { Allow: allowOf(['GET', 'HEAD']) } }),
});
