/** Answers to requests that never reach the pipeline, in the form of every other error. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, errors } from '../errors.js';
import { errorBody } from './error-reply.js';
import { allowOf, type CommonHeaders } from './headers.js';
import { JSON_TYPE, payloadOf } from './representation.js';
import { newRequestId } from './request-id.js';
import { endWith } from './write-reply.js';

export interface Refusal {
  /** For a request that Node could read. */
  toRequest(request: IncomingMessage, response: ServerResponse): void;
  /** For a socket that carries none; it is closed. */
  toSocket(socket: Socket): void;
}

const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  431: 'Request Header Fields Too Large',
};

/** Builds the answer once, so that giving it costs as little as can be. */
export const refusal = (
  error: ApiError,
  headers: CommonHeaders,
  { more = [], close = true }: { readonly more?: readonly string[]; readonly close?: boolean } = {},
): Refusal => {
  const { status } = error.kind;
  const body = errorBody(error);
  const payload = payloadOf(body);
  const content = ['Content-Type', JSON_TYPE, 'Content-Length', String(body.length)];
  const head = [...content, 'Cache-Control', 'no-store', ...more];
  return {
    toRequest(request, response) {
      if (close || request.headers['content-length'] || request.headers['transfer-encoding']) {
        response.shouldKeepAlive = false;
      }
      response.writeHead(status, [...head, 'X-Request-Id', newRequestId(), ...headers.always(request.headers.origin)]);
      endWith(response, request.method === 'HEAD' ? undefined : payload);
    },
    toSocket(socket) {
      const all = [...head, 'Connection', 'close', 'X-Request-Id', newRequestId(), ...headers.always(undefined)];
      const lines = all.flatMap((name, index) => (index % 2 === 0 ? `${name}: ${all[index + 1]}` : []));
      socket.end(`HTTP/1.1 ${status} ${STATUS_TEXT[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
    },
  };
};

/** What Node's parser refuses, and what no pipeline could answer. */
export const socketRefusals = (headers: CommonHeaders) => ({
  malformed: refusal(new ApiError(errors.invalid_parameter, 'The request is not valid HTTP/1.1.'), headers),
  headersTooLarge: refusal(new ApiError(errors.headers_too_large), headers),
  connect: refusal(new ApiError(errors.method_not_allowed), headers, { more: ['Allow', allowOf(['GET', 'HEAD'])] }),
});
