/**
 * Writes the status, the header lines and the body in one system call. If code reads or changes a header, the header
 * lines are passed to Node, and the response becomes an ordinary one. The bytes sent are the same either way. Only this
 * file depends on Node's internals, and only after `tryFastWrites` has checked them.
 */
import { type IncomingMessage, OutgoingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import { endInPieces, PIECE_BYTES } from './large-bodies.js';
import type { Payload, Prepared } from './representation.js';

type ConnectionLines = (isKept: boolean) => string;

export const addLines = (response: ServerResponse, lines: string): void => {
  if (response instanceof FastResponse) response.addLines(lines);
  else setLines(response, lines);
};

export const setHead = (response: ServerResponse, head: string): void => {
  if (response instanceof FastResponse) response.setHead(head);
  else setLines(response, head);
};

export const send = (
  response: ServerResponse,
  prepared: Prepared,
  connectionLines: ConnectionLines,
  caller?: string,
): void => {
  if (response instanceof FastResponse) response.send(prepared, connectionLines, caller);
  else sendBody(response, prepared.payload, caller);
};

type FastState = 'no' | 'sent' | 'finished';

export class FastResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  #common = '';
  #head = '';
  #isOrdinary = false;
  #isSending = false;
  #sent: FastState = 'no';

  get isOrdinary(): boolean {
    return this.#isOrdinary;
  }

  get fastState(): FastState {
    return this.#sent;
  }

  get contentLength(): string | undefined {
    if (this.#sent === 'no') return this.getHeader('content-length')?.toString();
    return /^Content-Length: (\d+)/m.exec(this.#head)?.[1];
  }

  addLines(lines: string): void {
    if (this.#isOrdinary) setLines(this, lines);
    else this.#common = lines + this.#common;
  }

  setHead(head: string): void {
    this.#head = head;
    if (this.#isOrdinary) setLines(this, head);
  }

  send({ status, head, payload }: Prepared, connectionLines: ConnectionLines, caller?: string): void {
    this.#isSending = true;
    if (this.#isOrdinary || (this.statusCode !== status && status !== 304)) sendBody(this, payload, caller);
    else if (this.#canWriteFast(payload)) {
      this.#writeFast(status, head + this.#common + connectionLines(this.shouldKeepAlive), payload);
    } else {
      this.#isOrdinary = true;
      this.writeHead(status, pairsOf(head + this.#common));
      sendBody(this, payload, caller);
    }
  }

  /**
   * False if Node must write the response. For example, a response has no socket while an earlier response on the same
   * connection is pending.
   */
  #canWriteFast(payload: Payload | undefined): boolean {
    const { socket, req } = this;
    const own = FastResponse.prototype;
    return (
      fastWritesWork &&
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

  #writeFast(status: number, lines: string, payload: Payload | undefined): void {
    const socket = this.socket!;
    this.statusCode = status;
    // Marks the response as ended. On `finish`, Node starts the next request on the connection.
    this.finished = true;
    this.#sent = 'sent';
    if (!this.shouldKeepAlive) (this as unknown as ResponseInsides)._last = true;
    const written = (error?: Error | null): void => {
      if (error) return;
      this.#sent = 'finished';
      releaseRequest(this.req);
      this.emit('finish');
    };
    const text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n`;
    if (payload === undefined || this.req.method === 'HEAD') socket.write(text, 'latin1', written);
    else if (typeof payload === 'string') socket.write(text + payload, 'latin1', written);
    else {
      socket.cork();
      socket.write(text, 'latin1');
      socket.write(payload, written);
      socket.uncork();
    }
  }

  /**
   * Node 24 and later versions do not call the callback of `end` after a fast write, so the callback is called here.
   */
  // biome-ignore lint/suspicious/noExplicitAny: passes the arguments of all overloads on to Node
  override end(...given: any[]): this {
    if (this.#sent === 'no') return super.end(...given);
    const callback: unknown = given.findLast((each) => typeof each === 'function');
    if (typeof callback === 'function') {
      if (this.#sent === 'finished') process.nextTick(callback as () => void);
      else this.once('finish', callback as () => void);
    }
    return this;
  }

  giveLinesToNode(): void {
    if (this.#isOrdinary) return;
    this.#isOrdinary = true;
    setLines(this, this.#common + this.#head);
  }

  // biome-ignore lint/suspicious/noExplicitAny: passes the arguments of all overloads on to Node
  override writeHead(...given: any[]): this {
    this.giveLinesToNode();
    if (!this.#isSending) this.#removeLinesOfBody();
    return super.writeHead(...(given as Parameters<ServerResponse['writeHead']>));
  }

  /** Removes headers of a prepared body, because middleware might send a different body. */
  #removeLinesOfBody(): void {
    const pairs = pairsOf(this.#head);
    for (let i = 0; i < pairs.length; i += 2) {
      const name = pairs[i]!;
      if (OF_EXACT_BYTES.has(name) && this.getHeader(name) === pairs[i + 1]) this.removeHeader(name);
    }
  }
}

const OF_EXACT_BYTES: ReadonlySet<string> = new Set(['Content-Length', 'ETag', 'Last-Modified']);

const USES_OF_HEADERS = [
  'setHeader',
  'setHeaders',
  'appendHeader',
  'getHeader',
  'getHeaders',
  'getHeaderNames',
  'hasHeader',
  'removeHeader',
  'flushHeaders',
] as const;

for (const name of USES_OF_HEADERS) {
  const byNode = ServerResponse.prototype[name] as (...given: unknown[]) => unknown;
  Object.defineProperty(FastResponse.prototype, name, {
    configurable: true,
    writable: true,
    value(this: FastResponse, ...given: unknown[]): unknown {
      this.giveLinesToNode();
      return byNode.apply(this, given);
    },
  });
}

/** Returns Node's own getter, which does not take `#writeFast` into account. */
const byNode = (name: string) => Object.getOwnPropertyDescriptor(OutgoingMessage.prototype, name)?.get;
const [headersSentByNode, writableFinishedByNode] = [byNode('headersSent'), byNode('writableFinished')];
Object.defineProperties(FastResponse.prototype, {
  headersSent: {
    configurable: true,
    get(this: FastResponse): boolean {
      return this.fastState !== 'no' || headersSentByNode?.call(this);
    },
  },
  writableFinished: {
    configurable: true,
    get(this: FastResponse): boolean {
      return this.fastState === 'no' ? writableFinishedByNode?.call(this) : this.fastState === 'finished';
    },
  },
});

interface ResponseInsides {
  /** If true, Node closes the connection after the response. */
  _last: boolean;
}

interface RequestInsides {
  /** If true, Node does not discard the unread body of the request after the response. */
  _consuming: boolean;
  readonly socket: { readonly parser?: { incoming: unknown } | null };
}

/**
 * Prevents Node from reading the unused request stream to its end after the response. Reading it would create a sixth
 * of the garbage of a request.
 */
const releaseRequest = (request: IncomingMessage): void => {
  if (!request.complete || request.readableLength > 0) return;
  if (request.listenerCount('end') > 0 || request.listenerCount('close') > 0) return;
  const insides = request as unknown as RequestInsides;
  insides._consuming = true;
  const { parser } = insides.socket;
  if (parser?.incoming === request) parser.incoming = null;
};

const pairsOf = (lines: string): string[] =>
  lines
    .split('\r\n')
    .slice(0, -1)
    .flatMap((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 2)];
    });

/** Sets header lines. A line replaces an earlier line with the same name, but `Vary` values are combined. */
const setLines = (response: ServerResponse, lines: string): void => {
  // As in Koa, headers are ignored once the response headers have been sent.
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

let fastWritesWork = false;

export const allowFastWrites = (work: boolean): void => {
  fastWritesWork = work;
};

/** The status and the headers must already be set. */
const sendBody = (response: ServerResponse, payload: Payload | undefined, caller?: string): void => {
  if (response.req.method !== 'HEAD' && isLarge(payload)) void endInPieces(response, payload, caller);
  else response.end(payload, 'latin1');
};

const isLarge = (payload: Payload | undefined): payload is Buffer =>
  Buffer.isBuffer(payload) && payload.length > PIECE_BYTES;
