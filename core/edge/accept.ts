/** Applies stricter checks than Node's parser, before requests reach the Koa application. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../config/schema.js';
import { ApiError, errors } from '../errors.js';
import { rejection, type socketRejections } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { type Connection, LAST_RESPONSE } from './last-response.js';

export type Rejections = ReturnType<typeof socketRejections>;
export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Handles a request, then calls `ended`. The promise never rejects. */
export type Handle = (request: IncomingMessage, response: ServerResponse, ended?: () => void) => Promise<void>;

interface AcceptOptions {
  readonly limits: Pick<Config['server'], 'maxHeaders' | 'maxHeaderBytes'>;
  readonly headers: CommonHeaders;
  readonly rejections: Rejections;
  readonly rejected: () => void;
  readonly handle: Listener;
  /** While `isDraining` is true, every response closes its connection. */
  readonly server: { readonly isDraining: boolean };
}

/** Rejects requests that are not valid HTTP/1.1 or whose headers are too large, and passes the others to `handle`. */
export const acceptor = ({ limits, headers, rejections, rejected, handle, server }: AcceptOptions): Listener => {
  const { maxHeaders, maxHeaderBytes } = limits;
  return (request, response) => {
    if (server.isDraining || isUpgrade(request)) response.shouldKeepAlive = false;
    (request.socket as Connection)[LAST_RESPONSE] = response;
    const error = hostError(request);
    if (!isVersion1(request) || hasAmbiguousBody(request)) {
      rejected();
      rejections.malformed.toRequest(request, response);
    } else if (request.rawHeaders.length > 2 * maxHeaders || fieldBytes(request) > maxHeaderBytes) {
      rejected();
      rejections.headersTooLarge.toRequest(request, response);
    } else if (error) {
      rejected();
      rejection(error, headers).toRequest(request, response);
    } else {
      if (!request.url?.startsWith('/')) toOriginForm(request);
      void handle(request, response);
    }
  };
};

/** Node's parser also accepts versions 0.9 and 2.0. */
const isVersion1 = ({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor <= 1;

/**
 * Whether a proxy and this server could disagree about where the body ends. HTTP/1.0 does not define Transfer-Encoding
 * (RFC 9112, 6.1), and this server supports only `chunked`.
 */
const hasAmbiguousBody = ({ httpVersionMinor, headers }: IncomingMessage): boolean => {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && (httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
};

/** Size of the header fields, including a colon, a space and a line break (4 bytes) per field. */
const fieldBytes = ({ rawHeaders }: IncomingMessage): number => {
  let bytes = 2 * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
};

/**
 * For an upgrade request, Node's parser drops any further requests in the same chunk. The connection must be closed
 * after the response, because the client would mistake a later response for the response to a dropped request.
 */
const isUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade !== undefined && headers.connection !== undefined && /upgrade/i.test(headers.connection);

/** `uri-host [":" port]` from RFC 9110, section 7.2. Rejects user information, paths and spaces. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d{0,5})?$/;

const hostHeaderError = (issue: string): ApiError =>
  new ApiError(
    errors.invalid_parameter,
    'The Host header is not valid: send exactly one, with the name of this service.',
    {
      details: [{ in: 'header', name: 'Host', issue }],
    },
  );

const MISSING = hostHeaderError('must be present');
const REPEATED = hostHeaderError('must be sent once');
const MALFORMED = hostHeaderError('must be a host name or address, optionally followed by a port');

/** The last valid Host header. Most requests repeat it and need no further check. */
let lastValid = '';

/** Checks the Host header (RFC 9112, 3.2). Node uses the first of several Host headers and accepts any value. */
const hostError = ({ rawHeaders, httpVersionMinor }: IncomingMessage): ApiError | undefined => {
  let host: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return REPEATED;
    host = rawHeaders[i + 1]!;
  }
  if (host === undefined) return httpVersionMinor === 0 ? undefined : MISSING;
  if (host === lastValid) return undefined;
  if (!HOST.test(host)) return MALFORMED;
  lastValid = host;
  return undefined;
};

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;

/**
 * Converts an absolute request target, such as `http://example.com/path`, to origin form. Servers must accept the
 * absolute form, and its host replaces the Host header (RFC 9112, 3.2.2). Other targets are left unchanged, and invalid
 * ones are rejected later.
 */
const toOriginForm = (request: IncomingMessage): void => {
  const [, host, rest] = ABSOLUTE.exec(request.url ?? '') ?? [];
  if (host === undefined || rest === undefined || !HOST.test(host)) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  request.headers.host = host;
};
