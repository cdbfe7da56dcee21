/**
 * Node's response, with a faster way to send a prepared one: status, header lines and body in one system call, without
 * Node's checks and stages, in two thirds of the time.
 *
 * Header lines stay text until something reads or changes a header; then Node gets all of them and the response is an
 * ordinary one. Both ways write the same bytes. Only this file relies on Node's internals, and only if
 * `trySendingAtOnce` has found that they work as expected.
 */
import { createServer, type IncomingMessage, OutgoingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type CommonHeaders, pairsOf } from './headers.js';
import { endInPieces, PIECE_BYTES } from './large-bodies.js';
import { type Payload, Prepared, WRITTEN_AS_TEXT_BYTES } from './representation.js';

/** The state of a response that was sent at once. */
type Sent = 'no' | 'sent' | 'finished';

export class PreparedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** The header lines of every response, and of the prepared body. */
  #common = '';
  #head = '';
  #isOrdinary = false;
  #isSending = false;
  #sent: Sent = 'no';

  /** Whether Node has the headers, because something has read or changed one. */
  get isOrdinary(): boolean {
    return this.#isOrdinary;
  }

  get sentAtOnce(): Sent {
    return this.#sent;
  }

  /** Adds lines before those that were added earlier. */
  addLines(lines: string): void {
    if (this.#isOrdinary) setLines(this, lines);
    else this.#common = lines + this.#common;
  }

  /** Sets the lines of the body, replacing those of an earlier body. */
  setHead(head: string): void {
    this.#head = head;
    if (this.#isOrdinary) setLines(this, head);
  }

  /**
   * Sends a prepared body. Its lines are not sent where middleware have read or changed headers or the status, since
   * Node then has the headers.
   */
  sendPrepared({ status, head, payload }: Prepared, connectionLines: ConnectionLines): void {
    this.#isSending = true;
    if (this.#isOrdinary || (this.statusCode !== status && status !== 304)) sendBody(this, payload);
    else if (this.#canSendAtOnce(payload)) {
      this.#sendAtOnce(status, head + this.#common + connectionLines(this.shouldKeepAlive), payload);
    } else {
      this.#isOrdinary = true;
      this.writeHead(status, pairsOf(head + this.#common));
      sendBody(this, payload);
    }
  }

  /**
   * Whether Node would write the same bytes now: the request is HTTP/1.1 and first on its connection, nothing has been
   * written, and no method was replaced.
   */
  #canSendAtOnce(payload: Payload | undefined): boolean {
    const { socket, req } = this;
    const own = PreparedResponse.prototype;
    return (
      sendingAtOnceWorks &&
      socket?.writable === true &&
      req.httpVersionMinor === 1 &&
      req.headers.expect === undefined &&
      !this.headersSent &&
      !isLarge(payload) &&
      this.statusMessage === undefined &&
      this.sendDate &&
      this.writableCorked === 0 &&
      this.writeHead === own.writeHead &&
      this.write === own.write &&
      this.end === own.end
    );
  }

  #sendAtOnce(status: number, lines: string, payload: Payload | undefined): void {
    const socket = this.socket!;
    this.statusCode = status;
    // Marks the response as ended now; Node starts the connection's next request on `finish`.
    this.finished = true;
    this.#sent = 'sent';
    // Node then closes the connection on `finish`.
    if (!this.shouldKeepAlive) (this as unknown as ResponseInsides)._last = true;
    const written = (error?: Error | null): void => {
      if (error) return;
      this.#sent = 'finished';
      releaseRequest(this.req);
      this.emit('finish');
      dropFinishedResponse(socket);
    };
    const text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n`;
    if (payload === undefined || this.req.method === 'HEAD') socket.write(text, 'latin1', written);
    else if (typeof payload === 'string') socket.write(text + payload, 'latin1', written);
    else if (payload.length <= WRITTEN_AS_TEXT_BYTES)
      socket.write(text + payload.toString('latin1'), 'latin1', written);
    else {
      socket.cork();
      socket.write(text, 'latin1');
      socket.write(payload, written);
      socket.uncork();
    }
  }

  /** From Node 24 on, a callback given after `#sendAtOnce` would never be called. */
  // biome-ignore lint/suspicious/noExplicitAny: Node's overloads, passed on as they come
  override end(...given: any[]): this {
    if (this.#sent === 'no') return super.end(...given);
    const callback: unknown = given.findLast((each) => typeof each === 'function');
    if (typeof callback === 'function') {
      if (this.#sent === 'finished') process.nextTick(callback as () => void);
      else this.once('finish', callback as () => void);
    }
    return this;
  }

  #giveLinesToNode(): void {
    if (this.#isOrdinary) return;
    this.#isOrdinary = true;
    setLines(this, this.#common + this.#head);
  }

  override setHeader(name: string, value: number | string | readonly string[]): this {
    this.#giveLinesToNode();
    return super.setHeader(name, value);
  }

  override setHeaders(headers: Headers | Map<string, number | string | readonly string[]>): this {
    this.#giveLinesToNode();
    return super.setHeaders(headers);
  }

  override appendHeader(name: string, value: string | readonly string[]): this {
    this.#giveLinesToNode();
    return super.appendHeader(name, value);
  }

  override getHeader(name: string): number | string | string[] | undefined {
    this.#giveLinesToNode();
    return super.getHeader(name);
  }

  override getHeaders(): ReturnType<ServerResponse['getHeaders']> {
    this.#giveLinesToNode();
    return super.getHeaders();
  }

  override getHeaderNames(): string[] {
    this.#giveLinesToNode();
    return super.getHeaderNames();
  }

  override hasHeader(name: string): boolean {
    this.#giveLinesToNode();
    return super.hasHeader(name);
  }

  override removeHeader(name: string): void {
    this.#giveLinesToNode();
    super.removeHeader(name);
  }

  override flushHeaders(): void {
    this.#giveLinesToNode();
    super.flushHeaders();
  }

  /** Node calls it as well, before the first write. */
  // biome-ignore lint/suspicious/noExplicitAny: Node's overloads, passed on as they come
  override writeHead(...given: any[]): this {
    this.#giveLinesToNode();
    if (!this.#isSending) this.#removeLinesOfBody();
    return super.writeHead(...(given as Parameters<ServerResponse['writeHead']>));
  }

  /** Middleware send the head: other bytes than the prepared body may follow, to which its length and ETag do not apply. */
  #removeLinesOfBody(): void {
    const pairs = pairsOf(this.#head);
    for (let i = 0; i < pairs.length; i += 2) {
      const name = pairs[i]!;
      if (OF_EXACT_BYTES.has(name) && super.getHeader(name) === pairs[i + 1]) super.removeHeader(name);
    }
  }
}

const OF_EXACT_BYTES: ReadonlySet<string> = new Set(['Content-Length', 'ETag', 'Last-Modified']);

/** The lines about the connection, by whether it stays open. */
type ConnectionLines = CommonHeaders['connectionLines'];

/** Fields of a response that Node's types lack. */
interface ResponseInsides {
  /** Whether the connection is closed after the response. */
  _last: boolean;
}

/** Fields of a request that Node's types lack. */
interface RequestInsides {
  /** Whether a handler reads the body, so that Node need not. */
  _consuming: boolean;
  readonly socket: { readonly parser?: { incoming: unknown } | null };
}

/**
 * Releases a request that was received whole, whose stream holds no data and has no listener for its end. Node would
 * read the stream to its end first: four ticks, and a sixth of a request's garbage. A Node without these internals
 * does.
 */
const releaseRequest = (request: IncomingMessage): void => {
  if (!request.complete || request.readableLength > 0) return;
  if (request.listenerCount('end') > 0 || request.listenerCount('close') > 0) return;
  const insides = request as unknown as RequestInsides;
  insides._consuming = true;
  const { parser } = insides.socket;
  if (parser?.incoming === request) parser.incoming = null;
};

/**
 * Gives any response its header lines. A later line replaces an earlier one of its name; values of `Vary` are combined.
 */
export const setLines = (response: ServerResponse, lines: string): void => {
  // As Koa does, ignores headers that come too late.
  if (response.headersSent) return;
  const pairs = pairsOf(lines);
  for (let i = 0; i < pairs.length; i += 2) {
    const name = pairs[i]!;
    const before = name === 'Vary' ? response.getHeader(name) : undefined;
    response.setHeader(name, before === undefined ? pairs[i + 1]! : merged(before, pairs[i + 1]!));
  }
};

const merged = (before: number | string | string[], more: string): string => {
  const names = `${before}, ${more}`.split(',').map((name) => name.trim());
  return names.filter((name, i) => names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) === i).join(', ');
};

const isLarge = (payload: Payload | undefined): payload is Buffer =>
  Buffer.isBuffer(payload) && payload.length > PIECE_BYTES;

/** Sends any response that has no headers yet. */
export const sendAlone = (response: ServerResponse, prepared: Prepared, connectionLines: ConnectionLines): void => {
  if (response instanceof PreparedResponse) {
    response.statusCode = prepared.status;
    response.sendPrepared(prepared, connectionLines);
  } else {
    response.writeHead(prepared.status, pairsOf(prepared.head));
    sendBody(response, prepared.payload);
  }
};

/** Ends a response whose headers and status are there. HEAD gets no body. */
export const sendBody = (response: ServerResponse, payload: Payload | undefined): void => {
  if (response.req.method !== 'HEAD' && isLarge(payload)) void endInPieces(response, payload);
  else response.end(payload, 'latin1');
};

/** Node's types call these fields; they are accessors, which see nothing of what `#sendAtOnce` does. */
const byNode = (name: string) => Object.getOwnPropertyDescriptor(OutgoingMessage.prototype, name)?.get;
const [headersSentByNode, writableFinishedByNode] = [byNode('headersSent'), byNode('writableFinished')];
Object.defineProperties(PreparedResponse.prototype, {
  headersSent: {
    configurable: true,
    get(this: PreparedResponse): boolean {
      return this.sentAtOnce !== 'no' || headersSentByNode?.call(this);
    },
  },
  writableFinished: {
    configurable: true,
    get(this: PreparedResponse): boolean {
      return this.sentAtOnce === 'no' ? writableFinishedByNode?.call(this) : this.sentAtOnce === 'finished';
    },
  },
});

let sendingAtOnceWorks = false;
let trial: Promise<boolean> | undefined;

/**
 * Tries once in this process, on a connection in memory, whether a response can be sent at once: whether Node takes it
 * for ended, and goes on to the connection's next request or closes it. Until this has succeeded, Node writes all
 * responses.
 */
export const trySendingAtOnce = (): Promise<boolean> => {
  trial ??= tryOnce().then((works) => {
    sendingAtOnceWorks = works;
    return works;
  });
  return trial;
};

const TRIAL_MS = 1000;

const tryOnce = (): Promise<boolean> =>
  new Promise((resolve) => {
    const seen: unknown[] = [];
    let received = '';
    const connection = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, callback) {
        received += chunk.toString('latin1');
        setImmediate(callback);
      },
    });
    const server = createServer({ ServerResponse: PreparedResponse });
    const settle = (works: boolean): void => {
      clearTimeout(timer);
      connection.destroy();
      server.close();
      resolve(works);
    };
    const timer = setTimeout(settle, TRIAL_MS, false);
    server.on('clientError', () => settle(false));
    const sendAtOnce = (response: PreparedResponse, body: string): void => {
      sendingAtOnceWorks = true;
      const connectionLines = (isKept: boolean): string => (isKept ? '' : 'Connection: close\r\n');
      response.sendPrepared(new Prepared(200, `Content-Length: ${body.length}\r\n`, body), connectionLines);
      sendingAtOnceWorks = false;
      seen.push(response.sentAtOnce, response.headersSent, response.writableEnded, response.writableFinished);
    };
    connection.once('finish', () => settle(wasAsExpected(seen, received)));
    server.on('request', (request, response) => {
      response.once('finish', () => seen.push(response.writableFinished, response.socket === null));
      if (request.url === '/second') {
        response.once('close', () => connection.push('GET /third HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'));
        response.end('second');
      } else sendAtOnce(response as PreparedResponse, request.url === '/first' ? 'first' : 'third');
    });
    server.emit('connection', connection);
    connection.push('GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n');
  });

const SENT_AT_ONCE = 'sent,true,true,false,true,true';

const wasAsExpected = (seen: readonly unknown[], received: string): boolean =>
  String(seen) === `${SENT_AT_ONCE},true,true,${SENT_AT_ONCE}` &&
  received.startsWith('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\n') &&
  received.endsWith('\r\n\r\nsecondHTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nthird');

/** A property of the socket, which costs less for each request than a weak map. */
const LAST_RESPONSE = Symbol('last response');

type Connection = Socket & { [LAST_RESPONSE]?: ServerResponse | null };

export const setLastResponse = (socket: Socket, response: ServerResponse): void => {
  (socket as Connection)[LAST_RESPONSE] = response;
};

/** Undefined before the first request; null where the last response was finished and has been dropped. */
export const lastResponse = (socket: Socket): ServerResponse | null | undefined =>
  (socket as Connection)[LAST_RESPONSE];

/** Drops the finished response, so that an idle connection holds no memory of it: nearly half of what it takes. */
export const dropFinishedResponse = (socket: Socket): void => {
  const response = lastResponse(socket);
  const isOver = response?.writableFinished && response.shouldKeepAlive && response.req.complete;
  if (isOver) (socket as Connection)[LAST_RESPONSE] = null;
};
