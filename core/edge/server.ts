import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Config } from '../config/schema.js';
import { ApiError, errors, OperatorError } from '../errors.js';
import { type Rejection, socketRejections } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { FastResponse } from '../response/writer.js';
import { tryFastWrites } from '../response/writer-check.js';
import { connectionsAllowed } from '../util/open-files.js';
import { acceptor, type Listener, type Rejections } from './accept.js';
import { trustedSocket } from './caller-address.js';
import { closeSoon, cutUnreadResponses, destroyAll, limitConnections, listen, openSockets } from './connections.js';
import { isReusable, lastResponse } from './last-response.js';
import { acceptUpgrades } from './upgrades.js';

type ServerOptions = Config['server'];

/** Events that the server reports to the metrics because they never reach Koa. */
export type EdgeEvent = 'malformed' | 'timeout' | 'unread' | 'too_many_connections' | 'too_many_connections_of_address';

/** Makes the body of a request fail. The socket stays open, because it is still needed for the response. */
const failBody = (request: IncomingMessage, error: ApiError): void => {
  const { socket } = request;
  Object.assign(request, { socket: null });
  request.destroy(error);
  request.socket = socket;
};

const MALFORMED_BODY = 'The body of the request is not valid HTTP/1.1.';

/** Delay before idle sockets are closed at shutdown, because a request might already be on its way. */
const LAST_REQUESTS_MS = 250;
const LAST_STREAMS_MS = 500;

export class HttpServer {
  readonly #server: Server;
  readonly #sockets: ReadonlySet<Socket>;
  readonly #options: ServerOptions;
  readonly #headers: CommonHeaders;
  readonly #handle: Listener;
  readonly #observe: (event: EdgeEvent) => void;
  isDraining = false;
  /** `close` keeps idle connections open for this long, in milliseconds. */
  #idleMs = 0;
  #opening: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(
    options: ServerOptions,
    headers: CommonHeaders,
    handle: Listener,
    observe: (event: EdgeEvent) => void,
    hasUpgrades = false,
  ) {
    this.#options = options;
    this.#headers = headers;
    this.#handle = handle;
    this.#observe = observe;
    this.#server = createServer({
      ServerResponse: FastResponse,
      // Node has a single limit for URL and headers. `RouteTable` and `acceptor` apply the separate limits.
      maxHeaderSize: options.maxHeaderBytes + options.maxUrlBytes,
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
      noDelay: true,
      // Node's 400 response would have no body, so `hostError` checks the Host header instead.
      requireHostHeader: false,
    });
    this.#sockets = openSockets(this.#server);
    this.#configure(hasUpgrades);
  }

  #configure(hasUpgrades: boolean): void {
    const { maxConnections, maxConnectionsPerAddress, maxHeaders, stallTimeoutMs, trustProxy } = this.#options;
    const server = this.#server;
    server.maxConnections = Math.min(maxConnections, connectionsAllowed());
    server.on('drop', () => this.#observe('too_many_connections'));
    limitConnections(server, maxConnectionsPerAddress, {
      isExempt: trustedSocket(trustProxy),
      refused: () => this.#observe('too_many_connections_of_address'),
    });
    cutUnreadResponses(server, this.#sockets, stallTimeoutMs, () => this.#observe('unread'));
    // Node silently drops headers beyond its limit. Allowing one more reveals that there are too many.
    server.maxHeadersCount = maxHeaders + 1;
    const rejections = socketRejections(this.#headers);
    const accept = acceptor({
      limits: this.#options,
      headers: this.#headers,
      rejections,
      rejected: () => this.#observe('malformed'),
      handle: this.#handle,
      server: this,
    });
    server.on('request', accept);
    // By default, Node responds to an `Expect` header with `100 Continue`, or with an error without a body.
    server.on('checkContinue', accept);
    server.on('checkExpectation', accept);
    // Without an `upgrade` listener, Node ignores the Upgrade header, which RFC 9110, 7.8 allows.
    if (hasUpgrades) acceptUpgrades(server, accept);
    server.on('connect', (_request, socket) => {
      this.#observe('malformed');
      rejectSocket(socket as Socket, rejections.connect);
      // Node applies no timeouts to the socket of a CONNECT request.
      closeSoon(socket as Socket);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#fail(error, socket as Socket, rejections));
  }

  #fail(error: NodeJS.ErrnoException, socket: Socket, rejections: Rejections): void {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#observe('timeout');
    if (!error.code?.startsWith('HPE_') || !socket.writable) {
      socket.destroy();
      return;
    }
    this.#observe('malformed');
    rejectSocket(socket, error.code === 'HPE_HEADER_OVERFLOW' ? rejections.headersTooLarge : rejections.malformed);
  }

  async listen(): Promise<{ host: string; port: number }> {
    assertOpen(this.#closed);
    const { host, port } = this.#options;
    await tryFastWrites();
    assertOpen(this.#closed);
    const opening = listen(this.#server, port, host);
    this.#opening = opening.catch(() => undefined);
    return { host, port: await opening };
  }

  /**
   * @param idleMs time during which `close` keeps idle connections open, so that clients receive a response with
   *   `Connection: close` instead of a reset
   */
  drain(idleMs = 0): void {
    this.isDraining = true;
    this.#idleMs = idleMs;
  }

  async close(): Promise<void> {
    const deadlineMs = this.#idleMs + this.#options.drainMs;
    this.#closed = true;
    this.isDraining = true;
    await this.#opening;
    if (!this.#server.listening) return;
    // `http.Server.close` would close idle connections immediately, although a request might already be on its way.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    let elapsedMs = 0;
    const sweep = setInterval(() => {
      elapsedMs += LAST_REQUESTS_MS;
      const sweptMs = elapsedMs - this.#idleMs;
      if (sweptMs <= 0) return;
      for (const socket of this.#sockets) if (isOver(socket, sweptMs >= LAST_STREAMS_MS)) socket.destroy();
    }, LAST_REQUESTS_MS);
    const deadline = setTimeout(() => destroyAll(this.#sockets), deadlineMs);
    await closed;
    // Node closes the server before it reports the end of aborted responses, which must still be logged.
    await Promise.all([...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    clearInterval(sweep);
    clearTimeout(deadline);
    this.#server.close();
  }
}

export const assertOpen = (isClosed: boolean): void => {
  if (isClosed) throw new OperatorError('The application is closed. Create another one to listen again.');
};

const isOver = (socket: Socket, isLate: boolean): boolean => {
  const response = lastResponse(socket);
  if (!response || response.writableFinished) return true;
  return isLate && (!response.req.complete || isEventStream(response));
};

/** Event streams can be closed, because they never end and their clients reconnect automatically. */
const isEventStream = (response: ServerResponse): boolean =>
  response.headersSent && /^text\/event-stream/i.test(String(response.getHeader('Content-Type')));

/**
 * Sends a rejection and closes the socket. If an earlier request is still waiting for its response, sends only that
 * response. Otherwise, the client would mistake the rejection for that response.
 */
const rejectSocket = (socket: Socket, rejection: Rejection): void => {
  const before = lastResponse(socket);
  if (!before || isReusable(before)) {
    rejection.toSocket(socket);
    closeSoon(socket);
    return;
  }
  before.shouldKeepAlive = false;
  if (before.writableFinished) socket.destroySoon();
  else before.once('finish', () => socket.destroySoon());
  // The invalid bytes are in the body of the earlier request. A handler might still be waiting for this body.
  if (!before.req.complete) failBody(before.req, new ApiError(errors.invalid_parameter, MALFORMED_BODY));
};
