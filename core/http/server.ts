/** The HTTP server around the pipeline: its limits, its answers to what is not HTTP, and its drain. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ApiError, type ErrorKind, errors } from '../errors.js';
import { errorBody } from './error-reply.js';
import { allowOf, type CommonHeaders } from './headers.js';
import { JSON_TYPE } from './representation.js';
import { newRequestId } from './request-id.js';

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly maxUrlBytes: number;
  readonly maxHeaderBytes: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxConnections: number;
}

export class HttpServer {
  readonly #server: Server;
  readonly #options: ServerOptions;
  #draining = false;

  constructor(
    options: ServerOptions,
    headers: CommonHeaders,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ) {
    this.#options = options;
    this.#server = createServer(
      {
        // The target counts towards Node's limit, and has one of its own.
        maxHeaderSize: options.maxHeaderBytes + options.maxUrlBytes,
        headersTimeout: options.headersTimeoutMs,
        requestTimeout: options.requestTimeoutMs,
        keepAliveTimeout: options.keepAliveTimeoutMs,
        connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
        noDelay: true,
      },
      (request, response) => {
        if (this.#draining) response.shouldKeepAlive = false;
        handle(request, response);
      },
    );
    this.#server.maxConnections = options.maxConnections;
    const { refuse, onClientError } = socketRefuser(headers);
    this.#server.on('clientError', (error, socket) => onClientError(error, socket as Socket));
    // Without listeners Node would answer these itself, each in its own way. Nothing is upgraded to here, and
    // RFC 9110 7.8 lets a server go on as if the header were not there.
    this.#server.on('checkExpectation', handle);
    this.#server.on('connect', (_request, socket) => refuse(socket as Socket, errors.method_not_allowed));
  }

  /** @returns the address that it listens on, with the port that the system chose for port 0 */
  listen(): Promise<{ host: string; port: number }> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve({ host, port: (this.#server.address() as AddressInfo).port });
      });
    });
  }

  /** From now on every response closes its connection. */
  drain(): void {
    this.#draining = true;
  }

  /** Accepts no more; resolves when running requests have ended, or at the deadline, which cuts them off. */
  async close(deadlineMs: number): Promise<void> {
    this.drain();
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), deadlineMs);
    await closed;
    clearTimeout(timer);
  }
}

const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  431: 'Request Header Fields Too Large',
};

/** Answers, in the form of every other error, what Node's parser refuses; such a connection is then closed. */
const socketRefuser = (headers: CommonHeaders) => {
  const refuse = (socket: Socket, kind: ErrorKind, sentence?: string): void => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const body = errorBody(new ApiError(kind, sentence));
    const head = [
      ...['Content-Type', JSON_TYPE, 'Content-Length', String(body.length), 'Connection', 'close'],
      ...(kind.status === 405 ? ['Allow', allowOf(['GET', 'HEAD'])] : []),
      ...['X-Request-Id', newRequestId()],
      ...headers.always(undefined),
    ];
    const lines = head.flatMap((name, index) => (index % 2 === 0 ? `${name}: ${head[index + 1]}` : []));
    socket.end(`HTTP/1.1 ${kind.status} ${STATUS_TEXT[kind.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  };
  return {
    refuse,
    onClientError: (error: NodeJS.ErrnoException, socket: Socket): void => {
      if (error.code === 'HPE_HEADER_OVERFLOW') refuse(socket, errors.headers_too_large);
      else if (error.code?.startsWith('HPE_')) {
        refuse(socket, errors.invalid_parameter, 'The request is not valid HTTP/1.1.');
      }
      // A client that is too slow, or gone, gets no answer.
      else socket.destroy();
    },
  };
};
