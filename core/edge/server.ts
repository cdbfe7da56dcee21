/** The HTTP server in front of the Koa application: limits, responses to invalid HTTP, and the drain at shutdown. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Config } from '../config/schema.js';
import { ApiError, errors, OperatorError } from '../errors.js';
import { type Refusal, refusal, socketRefusals } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { FastResponse } from '../response/writer.js';
import { tryFastWrites } from '../response/writer-check.js';
import { trustedSocket } from './caller-address.js';
import { cutUnreadResponses, limitConnections } from './connections.js';
import { listen } from './listen.js';
import { closeSoon, destroyAll, lastResponse, openSockets, setLastResponse } from './sockets.js';

type ServerOptions = Config['server'];

/** Rejections before the Koa application, for the metrics. */
export type EdgeEvent = 'malformed' | 'timeout' | 'unread' | 'too_many_connections' | 'too_many_connections_of_address';

type Refusals = ReturnType<typeof socketRefusals>;
type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Handles a request, then calls `ended`; the promise never rejects. */
export type Handle = (request: IncomingMessage, response: ServerResponse, ended?: () => void) => Promise<void>;

/** Node's parser also accepts versions 0.9 and 2.0, which the server does not support. */
const isVersion1 = ({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor <= 1;

/**
 * Whether a proxy could disagree about the end of the body: HTTP/1.0 has no Transfer-Encoding (RFC 9112, 6.1), and only
 * `chunked` is supported.
 */
const hasAmbiguousBody = ({ httpVersionMinor, headers }: IncomingMessage): boolean => {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && (httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
};

/** Size of the header fields: names and values, and for each a colon, a space and a line end. */
const fieldBytes = ({ rawHeaders }: IncomingMessage): number => {
  let bytes = 2 * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
};

/**
 * Makes reading the body fail. Node would close the socket with the request, so the socket is detached meanwhile: the
 * response still has to be sent.
 */
const failBody = (request: IncomingMessage, error: ApiError): void => {
  const { socket } = request;
  Object.assign(request, { socket: null });
  request.destroy(error);
  request.socket = socket;
};

/**
 * Whether a request asks to upgrade its connection. Node's parser then drops further requests of the same chunk. The
 * connection closes after the response, since the client would take a later response for that of a dropped request.
 */
const isUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade !== undefined && headers.connection !== undefined && /upgrade/i.test(headers.connection);

const MALFORMED_BODY = 'The body of the request is not valid HTTP/1.1.';

/** Grace period for requests already on the wire when the listener closes, and how often idle sockets are closed then. */
const LAST_REQUESTS_MS = 250;
/** Grace period for incomplete requests and for event streams when the listener closes. */
const LAST_STREAMS_MS = 500;

export class HttpServer {
  readonly #server: Server;
  readonly #sockets: ReadonlySet<Socket>;
  readonly #options: ServerOptions;
  readonly #headers: CommonHeaders;
  readonly #handle: Listener;
  readonly #observe: (event: EdgeEvent) => void;
  #draining = false;
  /** Settles when the listener is open or has failed to open. */
  #opening: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: ServerOptions, headers: CommonHeaders, handle: Listener, observe: (event: EdgeEvent) => void) {
    this.#options = options;
    this.#headers = headers;
    this.#handle = handle;
    this.#observe = observe;
    this.#server = createServer({
      ServerResponse: FastResponse,
      // Node has one limit for the request target and the headers together. `RouteTable` and `#acceptor` check each.
      maxHeaderSize: options.maxHeaderBytes + options.maxUrlBytes,
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
      noDelay: true,
      // Node would reject without a body. `hostError` checks the header instead.
      requireHostHeader: false,
    });
    this.#sockets = openSockets(this.#server);
    this.#configure();
  }

  #configure(): void {
    const { maxConnections, maxConnectionsPerAddress, maxHeaders, stallTimeoutMs, trustProxy } = this.#options;
    const server = this.#server;
    server.maxConnections = maxConnections;
    server.on('drop', () => this.#observe('too_many_connections'));
    limitConnections(server, maxConnectionsPerAddress, {
      isExempt: trustedSocket(trustProxy),
      refused: () => this.#observe('too_many_connections_of_address'),
    });
    cutUnreadResponses(server, this.#sockets, stallTimeoutMs, () => this.#observe('unread'));
    // Node drops fields past its limit silently. One more than the limit shows that there were too many.
    server.maxHeadersCount = maxHeaders + 1;
    const refusals = socketRefusals(this.#headers);
    const accept = this.#acceptor(refusals);
    server.on('request', accept);
    // Without these listeners Node responds: with `100 Continue`, or with an error that has no body. Upgrades are
    // ignored, as RFC 9110 (7.8) allows.
    server.on('checkContinue', accept);
    server.on('checkExpectation', accept);
    server.on('connect', (_request, socket) => {
      this.#observe('malformed');
      refuseSocket(socket as Socket, refusals.connect);
      // Node no longer applies its timeouts to this socket.
      closeSoon(socket as Socket);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#fail(error, socket as Socket, refusals));
  }

  #acceptor(refusals: Refusals): Listener {
    const { maxHeaders, maxHeaderBytes } = this.#options;
    const handle = this.#handle;
    return (request, response) => {
      if (this.#draining || isUpgrade(request)) response.shouldKeepAlive = false;
      setLastResponse(request.socket, response);
      const error = hostError(request);
      if (!isVersion1(request) || hasAmbiguousBody(request)) {
        this.#observe('malformed');
        refusals.malformed.toRequest(request, response);
      } else if (request.rawHeaders.length > 2 * maxHeaders || fieldBytes(request) > maxHeaderBytes) {
        this.#observe('malformed');
        refusals.headersTooLarge.toRequest(request, response);
      } else if (error) {
        this.#observe('malformed');
        refusal(error, this.#headers).toRequest(request, response);
      } else {
        if (!request.url?.startsWith('/')) toOriginForm(request);
        void handle(request, response);
      }
    };
  }

  /** Responds to invalid HTTP. A client that is too slow or has disconnected gets no response. */
  #fail(error: NodeJS.ErrnoException, socket: Socket, refusals: Refusals): void {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#observe('timeout');
    if (!error.code?.startsWith('HPE_') || !socket.writable) {
      socket.destroy();
      return;
    }
    this.#observe('malformed');
    refuseSocket(socket, error.code === 'HPE_HEADER_OVERFLOW' ? refusals.headersTooLarge : refusals.malformed);
  }

  /** @returns the address, with the port that the system chose for port 0 */
  async listen(): Promise<{ host: string; port: number }> {
    this.#assertOpen();
    const { host, port } = this.#options;
    await tryFastWrites();
    this.#assertOpen();
    const opening = listen(this.#server, port, host);
    this.#opening = opening.catch(() => undefined);
    return { host, port: await opening };
  }

  /** @throws OperatorError once `close` has been called */
  #assertOpen(): void {
    if (this.#closed) throw new OperatorError('The application is closed. Create another one to listen again.');
  }

  /** From now on every response closes its connection. */
  drain(): void {
    this.#draining = true;
  }

  /**
   * Accepts no more connections. Resolves when running requests have ended, or after `drainMs`, when all sockets are
   * destroyed.
   */
  async close(): Promise<void> {
    const deadlineMs = this.#options.drainMs;
    this.#closed = true;
    this.drain();
    await this.#opening;
    if (!this.#server.listening) return;
    // Not http's own `close`, which would close idle connections at once, though a request may be on the wire.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    let elapsedMs = 0;
    const sweep = setInterval(() => {
      elapsedMs += LAST_REQUESTS_MS;
      for (const socket of this.#sockets) if (isOver(socket, elapsedMs >= LAST_STREAMS_MS)) socket.destroy();
    }, LAST_REQUESTS_MS);
    const deadline = setTimeout(() => destroyAll(this.#sockets), deadlineMs);
    await closed;
    clearInterval(sweep);
    clearTimeout(deadline);
    // The rest of http's own `close`: it ends the check of slow connections.
    this.#server.close();
  }
}

/**
 * Whether a socket has no response to wait for.
 * @param isLate whether incomplete requests and event streams no longer count
 */
const isOver = (socket: Socket, isLate: boolean): boolean => {
  const response = lastResponse(socket);
  if (!response || response.writableFinished) return true;
  return isLate && (!response.req.complete || isEventStream(response));
};

/** An event stream has no end, and its client connects again. */
const isEventStream = (response: ServerResponse): boolean =>
  response.headersSent && /^text\/event-stream/i.test(String(response.getHeader('Content-Type')));

/** Sends a refusal, or waits for the response to an earlier request, and closes the socket. */
const refuseSocket = (socket: Socket, refusal: Refusal): void => {
  const before = lastResponse(socket);
  if (!before || (before.writableFinished && before.shouldKeepAlive && before.req.complete)) {
    refusal.toSocket(socket);
    closeSoon(socket);
    return;
  }
  // The client would take the refusal for the response to its earlier request.
  before.shouldKeepAlive = false;
  if (before.writableFinished) socket.destroySoon();
  else before.once('finish', () => socket.destroySoon());
  // The error is in the body of that request, whose handler may wait for the rest.
  if (!before.req.complete) failBody(before.req, new ApiError(errors.invalid_parameter, MALFORMED_BODY));
};

/** `uri-host [":" port]` of RFC 9110 section 7.2: no user, no path, no spaces. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d{0,5})?$/;

const hostHeaderError = (issue: string): ApiError =>
  new ApiError(errors.invalid_parameter, 'The Host header is not valid: send one, with the name of this service.', {
    details: [{ in: 'header', name: 'Host', issue }],
  });

const MISSING = hostHeaderError('must be present');
const REPEATED = hostHeaderError('must be sent once');
const MALFORMED = hostHeaderError('must be a host, and a port where it is not the default one');

/** The last valid value. Clients send few different ones, so most need no check. */
let lastValid = '';

/** Checks the Host header by RFC 9112 (3.2). Node keeps the first of two and accepts any text. */
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
 * Turns a target in absolute form, such as `http://example.com/path`, into origin form. Every server must accept it (RFC
 * 9112, 3.2.2), and its host replaces the Host header. Any other target stays unchanged and is rejected later.
 */
const toOriginForm = (request: IncomingMessage): void => {
  const [, host, rest] = ABSOLUTE.exec(request.url ?? '') ?? [];
  if (host === undefined || rest === undefined || !HOST.test(host)) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  request.headers.host = host;
};
