/** The HTTP server in front of the Koa application: limits, responses to invalid HTTP, and the drain at shutdown. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Config } from '../config/schema.js';
import { ApiError, errors, OperatorError } from '../errors.js';
import { type Refusal, socketRefusals } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { FastResponse } from '../response/writer.js';
import { tryFastWrites } from '../response/writer-check.js';
import { acceptor, type Listener, lastResponse, type Refusals } from './accept.js';
import { trustedSocket } from './caller-address.js';
import { closeSoon, cutUnreadResponses, destroyAll, limitConnections, listen, openSockets } from './connections.js';

type ServerOptions = Config['server'];

/** Rejections before the Koa application, for the metrics. */
export type EdgeEvent = 'malformed' | 'timeout' | 'unread' | 'too_many_connections' | 'too_many_connections_of_address';

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
  /** Whether every response closes its connection. */
  isDraining = false;
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
      // Node has one limit for the request target and the headers together. `RouteTable` and `acceptor` check each.
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
    const accept = acceptor({
      limits: this.#options,
      headers: this.#headers,
      refusals,
      rejected: () => this.#observe('malformed'),
      handle: this.#handle,
      server: this,
    });
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
    this.isDraining = true;
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
