/** HTTP checks that are stricter than Node's HTTP parser. They run before Koa. */
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
  readonly server: { readonly isDraining: boolean };
}

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

/** Node's parser also accepts HTTP/0.9 and HTTP/2.0 request lines. */
const isVersion1 = ({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor <= 1;

/**
 * Prevents request smuggling, where a proxy and this server disagree about the end of a body. HTTP/1.0 does not define
 * Transfer-Encoding (RFC 9112, 6.1), and this server supports only `chunked`.
 */
const hasAmbiguousBody = ({ httpVersionMinor, headers }: IncomingMessage): boolean => {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && (httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
};

const fieldBytes = ({ rawHeaders }: IncomingMessage): number => {
  let bytes = 2 * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
};

/**
 * Node's parser drops requests that follow an upgrade request. The server therefore closes the connection. Otherwise,
 * the client could mistake a later response for the response to a dropped request.
 */
const isUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade !== undefined && headers.connection !== undefined && /upgrade/i.test(headers.connection);

/** Matches `uri-host [":" port]` (RFC 9110, 7.2). */
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

/** The last valid Host header. Most requests repeat it, so they need no check. */
let lastValid = '';

/** RFC 9112, 3.2 requires a 400 for invalid or repeated Host headers. Node accepts both. */
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

/** In a request for `http://example.com/path`, the host in the URL overrides the Host header (RFC 9112, 3.2.2). */
const toOriginForm = (request: IncomingMessage): void => {
  const [, host, rest] = ABSOLUTE.exec(request.url ?? '') ?? [];
  if (host === undefined || rest === undefined || !HOST.test(host)) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  request.headers.host = host;
};
