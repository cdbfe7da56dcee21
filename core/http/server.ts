/** The HTTP server around the Koa application: its limits, its responses to what is not HTTP, and its drain. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { limitConnections } from './connection-limit.js';
import type { CommonHeaders } from './headers.js';
import { hostFault } from './host-header.js';
import { lastResponse, setLastResponse } from './last-response.js';
import { listen } from './listen.js';
import { PreparedResponse, trySendingAtOnce } from './prepared-response.js';
import { refusal, socketRefusals } from './refusals.js';
import { cutUnreadResponses } from './unread-responses.js';

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly trustProxy: number;
  readonly maxUrlBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly drainMs: number;
}

/** What happened before the Koa application, for the metrics. */
export type EdgeEvent = 'malformed' | 'timeout' | 'unread' | 'too_many_connections' | 'too_many_connections_of_address';

type Refusals = ReturnType<typeof socketRefusals>;
type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Node's parser also takes 0.9 and 2.0, which it does not speak. */
const isVersion1 = ({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor <= 1;

/** A request that was on its way when the listener closed has this long to arrive. */
const LAST_REQUESTS_MS = 250;

export class HttpServer {
  readonly #server: Server;
  readonly #options: ServerOptions;
  readonly #headers: CommonHeaders;
  readonly #handle: Listener;
  readonly #observe: (event: EdgeEvent) => void;
  #draining = false;

  constructor(options: ServerOptions, headers: CommonHeaders, handle: Listener, observe: (event: EdgeEvent) => void) {
    this.#options = options;
    this.#headers = headers;
    this.#handle = handle;
    this.#observe = observe;
    this.#server = createServer({
      ServerResponse: PreparedResponse,
      // The target counts towards Node's limit, and has one of its own.
      maxHeaderSize: options.maxHeaderBytes + options.maxUrlBytes,
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
      noDelay: true,
      // Node would answer without a body: see `hostFault`.
      requireHostHeader: false,
    });
    this.#configure();
  }

  #configure(): void {
    const { maxConnections, maxConnectionsPerAddress, maxHeaders, stallTimeoutMs, trustProxy } = this.#options;
    const server = this.#server;
    server.maxConnections = maxConnections;
    server.on('drop', () => this.#observe('too_many_connections'));
    if (trustProxy === 0) {
      limitConnections(server, maxConnectionsPerAddress, () => this.#observe('too_many_connections_of_address'));
    }
    cutUnreadResponses(server, stallTimeoutMs, () => this.#observe('unread'));
    // Node drops the fields beyond its limit in silence; one more is kept than is allowed, to be seen.
    server.maxHeadersCount = maxHeaders + 1;
    const refusals = socketRefusals(this.#headers);
    const accept = this.#acceptor(refusals);
    server.on('request', accept);
    // Without listeners Node would answer these itself: it would ask for the body, or refuse without one. Nothing is
    // upgraded to here, and RFC 9110 7.8 lets a server go on as if the header were not there.
    server.on('checkContinue', accept);
    server.on('checkExpectation', accept);
    server.on('connect', (_request, socket) => refusals.connect.toSocket(socket as Socket));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#fail(error, socket as Socket, refusals));
  }

  #acceptor(refusals: Refusals): Listener {
    const { maxHeaders } = this.#options;
    const handle = this.#handle;
    return (request, response) => {
      if (this.#draining) response.shouldKeepAlive = false;
      setLastResponse(request.socket, response);
      const fault = hostFault(request);
      if (!isVersion1(request)) {
        this.#observe('malformed');
        refusals.malformed.toRequest(request, response);
      } else if (request.rawHeaders.length > 2 * maxHeaders) refusals.headersTooLarge.toRequest(request, response);
      else if (fault) {
        this.#observe('malformed');
        refusal(fault, this.#headers).toRequest(request, response);
      } else void handle(request, response);
    };
  }

  /** A client that is too slow, or gone, gets no answer. */
  #fail(error: NodeJS.ErrnoException, socket: Socket, refusals: Refusals): void {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#observe('timeout');
    if (!error.code?.startsWith('HPE_') || !socket.writable) {
      socket.destroy();
      return;
    }
    this.#observe('malformed');
    const before = lastResponse(socket);
    if (before && !(before.writableFinished && before.shouldKeepAlive)) {
      // An answer now would be taken for that of a request before it, or come after the last one that was announced.
      before.shouldKeepAlive = false;
      before.once('finish', () => socket.destroySoon());
    } else if (error.code === 'HPE_HEADER_OVERFLOW') refusals.headersTooLarge.toSocket(socket);
    else refusals.malformed.toSocket(socket);
  }

  /** @returns the address that it listens on, with the port that the system chose for port 0 */
  async listen(): Promise<{ host: string; port: number }> {
    const { host, port } = this.#options;
    await trySendingAtOnce();
    return { host, port: await listen(this.#server, port, host) };
  }

  /** From now on every response closes its connection. */
  drain(): void {
    this.#draining = true;
  }

  /** Accepts no more; resolves when running requests have ended, or after `drainMs`, when they are cut off. */
  async close(): Promise<void> {
    const deadlineMs = this.#options.drainMs;
    this.drain();
    if (!this.#server.listening) return;
    // Not http's own `close`: it would cut idle connections at once, with a request on its way in some of them.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    const lastRequests = setTimeout(() => this.#server.closeIdleConnections(), Math.min(LAST_REQUESTS_MS, deadlineMs));
    const deadline = setTimeout(() => this.#server.closeAllConnections(), deadlineMs);
    await closed;
    clearTimeout(lastRequests);
    clearTimeout(deadline);
    // The rest of http's own: its check of slow connections.
    this.#server.close();
  }
}
