/** Clients that send requests one after another, on kept and new connections, and check each response. */
import { connect, type Socket } from 'node:net';
import { AnswerHeadReader } from '../answer-head.js';
import { type Ask, OVERLOADED } from './requests.js';

const BODILESS = new Set([204, 304]);
const MOST_SURPRISES = 10;
/** The most URLs whose ETags are kept. */
const MOST_ETAGS = 10_000;

/** Counts of responses. */
export interface Tally {
  answered: number;
  aborted: number;
  connections: number;
  bytes: number;
  readonly statuses: Map<number, number>;
  /** The first unexpected responses; `surprised` counts all. */
  readonly surprises: string[];
  surprised: number;
}

export class Load {
  readonly tally: Tally = {
    answered: 0,
    aborted: 0,
    connections: 0,
    bytes: 0,
    statuses: new Map(),
    surprises: [],
    surprised: 0,
  };
  readonly #port: number;
  readonly #etags = new Map<string, string>();
  #next: (() => Ask) | undefined;
  #paused = false;
  #closed = false;
  #busy = 0;
  #idle: (() => void) | undefined;
  readonly #clients: Client[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  /** ETags by target. */
  get etags(): ReadonlyMap<string, string> {
    return this.#etags;
  }

  /** Starts to send these requests. */
  turnTo(next: () => Ask): void {
    this.#next = next;
  }

  start(clients: number): void {
    for (let i = 0; i < clients; i++) this.#clients.push(new Client(this.#port, this));
    for (const client of this.#clients) client.ask();
  }

  /** Resolves when no request is in flight. Connections stay open. */
  async pause(): Promise<void> {
    this.#paused = true;
    if (this.#busy === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  resume(): void {
    this.#paused = false;
    for (const client of this.#clients) client.ask();
  }

  close(): void {
    this.#closed = true;
    for (const client of this.#clients) client.close();
  }

  /** For a client: its next request. Undefined while paused. */
  take(): Ask | undefined {
    if (!this.#next || this.#paused || this.#closed) return undefined;
    this.#busy++;
    return this.#next();
  }

  /** For a client: its request has ended. @param status 0 if it was cut on purpose */
  ended(ask: Ask, status: number, etag: string | undefined): void {
    this.#busy--;
    if (status === 0) this.tally.aborted++;
    else {
      this.tally.answered++;
      this.tally.statuses.set(status, (this.tally.statuses.get(status) ?? 0) + 1);
      if (!ask.expected.includes(status) && status !== OVERLOADED)
        this.surprise(`${ask.kind}: ${ask.method} ${ask.target}: ${status}`);
      if (etag && status === 200 && ask.method === 'GET') this.#remember(ask.target, etag);
    }
    if (this.#busy === 0) this.#idle?.();
  }

  /** For a client: its connection has failed. */
  failed(ask: Ask, reason: string): void {
    if (this.#closed) return;
    this.#busy--;
    this.surprise(`${ask.kind}: ${ask.method} ${ask.target}: ${reason}`);
    if (this.#busy === 0) this.#idle?.();
  }

  #remember(target: string, etag: string): void {
    if (this.#etags.size >= MOST_ETAGS) this.#etags.clear();
    this.#etags.set(target, etag);
  }

  surprise(text: string): void {
    this.tally.surprised++;
    if (this.tally.surprises.length < MOST_SURPRISES) this.tally.surprises.push(text);
  }
}

/** One connection at a time, with at most one request in flight. */
class Client {
  readonly #port: number;
  readonly #load: Load;
  #socket: Socket | undefined;
  #ask: Ask | undefined;
  #head = new AnswerHeadReader();
  /** The current response. Undefined until its head has arrived. */
  #answer:
    | { readonly status: number; readonly etag: string | undefined; readonly closes: boolean; left: number }
    | undefined;

  constructor(port: number, load: Load) {
    this.#port = port;
    this.#load = load;
  }

  ask(): void {
    if (this.#ask) return;
    const ask = this.#load.take();
    if (!ask) return;
    this.#ask = ask;
    this.#head = new AnswerHeadReader();
    this.#answer = undefined;
    const socket = this.#connection();
    socket.write(ask.text);
    // The request may or may not have reached the server.
    if (ask.connection === 'abort') setImmediate(() => this.#end(0, undefined, true));
  }

  close(): void {
    this.#socket?.destroy();
  }

  #connection(): Socket {
    if (this.#socket) return this.#socket;
    const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true });
    this.#socket = socket;
    this.#load.tally.connections++;
    socket.on('data', (chunk) => {
      if (socket === this.#socket) this.#receive(chunk);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (socket !== this.#socket) return;
      this.#socket = undefined;
      const ask = this.#ask;
      if (!ask) return;
      this.#ask = undefined;
      this.#load.failed(ask, 'the connection was closed before the answer');
      // Waits, since a server that refuses connections would be asked without a pause.
      setTimeout(() => this.ask(), 10);
    });
    return socket;
  }

  #receive(chunk: Buffer): void {
    this.#load.tally.bytes += chunk.length;
    if (this.#answer) this.#answer.left -= chunk.length;
    else this.#readHead(chunk);
    const answer = this.#answer;
    if (answer && answer.left <= 0) this.#end(answer.status, answer.etag, answer.closes);
  }

  #readHead(chunk: Buffer): void {
    const head = this.#head.read(chunk);
    if (!head) return;
    const { text, length, begun } = head;
    const status = Number(text.slice(9, 12));
    const bodiless = this.#ask?.method === 'HEAD' || BODILESS.has(status);
    if (length === undefined && !bodiless)
      this.#load.surprise(`${this.#ask?.target}: ${status} without Content-Length`);
    this.#answer = {
      status,
      etag: /\r\nETag: (\S+)/i.exec(text)?.[1],
      closes: /\r\nConnection: close/i.test(text),
      left: bodiless ? 0 : (length ?? 0) - begun,
    };
  }

  #end(status: number, etag: string | undefined, closes: boolean): void {
    const ask = this.#ask;
    if (!ask) return;
    this.#ask = undefined;
    if (closes) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    this.#load.ended(ask, status, etag);
    this.ask();
  }
}
