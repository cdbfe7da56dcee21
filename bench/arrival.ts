/**
 * Open-loop load: requests fall due at a fixed rate, whether or not earlier ones have been answered, and each is timed
 * from the moment at which it fell due. A server that stalls is thus charged for every request that had to wait, which
 * a closed loop leaves out ("coordinated omission", Gil Tene).
 *
 * A process of its own, to be bound to a core. Takes `ArrivalOrders` as JSON, prints `ArrivalResult` as JSON.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { AnswerHeadReader } from './answer-head.js';
import { splitRequests } from './request-list.js';
import { percentile } from './statistics.js';

export interface ArrivalOrders {
  /** Of which only the origin counts. */
  readonly url: string;
  /** A file as `writeRequests` writes it: they are sent one after the other, again and again. */
  readonly requests: string;
  /** Requests a second. */
  readonly rate: number;
  readonly seconds: number;
  /** Answered but not counted, before the seconds begin. */
  readonly warmUpSeconds: number;
  readonly connections: number;
}

/** Latencies in microseconds. */
export interface ArrivalResult {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

interface PreparedRequest {
  readonly bytes: Buffer;
  /** Whether the connection ends with the response. */
  readonly closes: boolean;
}

const prepare = (text: string): PreparedRequest => ({
  bytes: Buffer.from(text),
  closes: /\r\nConnection: close\r\n/.test(text),
});

/** Responses that no list has a request for: an invalid key, a limit that has been reached, a failure. */
const isFault = (status: number): boolean => status === 401 || status === 429 || status >= 500;
const NOT_MODIFIED = 304;

/** One connection at a time with at most one request on its way. */
class Connection {
  readonly #open: () => Socket;
  readonly #answered: (due: number, connection: Connection) => void;
  #socket: Socket | undefined;
  #closes = false;
  #due = 0;
  /** Bytes of the answer that have not come yet; NaN while its head has not. */
  #left = Number.NaN;
  readonly #head = new AnswerHeadReader();

  constructor(open: () => Socket, answered: (due: number, connection: Connection) => void) {
    this.#open = open;
    this.#answered = answered;
  }

  /** On a fresh connection where there is none: what that takes counts. */
  send(due: number, { bytes, closes }: PreparedRequest): void {
    this.#due = due;
    this.#closes = closes;
    this.#left = Number.NaN;
    this.#socket ??= this.#connect();
    this.#socket.write(bytes);
  }

  #connect(): Socket {
    const socket = this.#open();
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', fail);
    socket.on('close', () => {
      if (socket === this.#socket) fail(new Error('The server has closed a connection.'));
    });
    return socket;
  }

  #receive(chunk: Buffer): void {
    if (Number.isNaN(this.#left)) this.#readHead(chunk);
    else this.#left -= chunk.length;
    if (this.#left !== 0) return;
    if (this.#closes) {
      this.#socket?.end();
      this.#socket = undefined;
    }
    this.#answered(this.#due, this);
  }

  #readHead(chunk: Buffer): void {
    const head = this.#head.read(chunk);
    if (!head) return;
    const { text, length, begun } = head;
    const status = Number(text.slice(9, 12));
    if (isFault(status)) fail(new Error(`The server answers: ${text}`));
    const size = status === NOT_MODIFIED ? 0 : length;
    this.#left = (size ?? fail(new Error('The server does not say how long its answer is.'))) - begun;
  }
}

const fail = (error: Error): never => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
};

const run = ({ url, requests: file, rate, seconds, warmUpSeconds, connections }: ArrivalOrders): void => {
  const { hostname, port } = new URL(url);
  const total = Math.round(rate * (warmUpSeconds + seconds));
  // No more than will be sent: what lies about unused costs the collector time.
  const requests = splitRequests(readFileSync(file, 'latin1')).slice(0, total).map(prepare);
  let sent = 0;
  const next = (): PreparedRequest => requests[sent++ % requests.length]!;
  const uncounted = Math.round(rate * warmUpSeconds);
  const interval = 1000 / rate;
  const latencies = new Float64Array(total);
  const free: Connection[] = [];
  /** When requests fell due that no connection was free for. */
  const waiting: number[] = [];
  let waitingFrom = 0;
  let due = 0;
  let answered = 0;

  const onAnswer = (since: number, connection: Connection): void => {
    latencies[answered++] = (performance.now() - since) * 1000;
    if (answered === total) finish();
    else if (waitingFrom < waiting.length) connection.send(waiting[waitingFrom++]!, next());
    else free.push(connection);
  };

  const finish = (): void => {
    const counted = latencies.subarray(uncounted);
    const result: ArrivalResult = {
      requests: counted.length,
      p50: percentile(counted, 0.5),
      p99: percentile(counted, 0.99),
      p999: percentile(counted, 0.999),
      max: percentile(counted, 1),
    };
    process.stdout.write(JSON.stringify(result), () => process.exit(0));
  };

  const begin = (): void => {
    const start = performance.now();
    // A timer's millisecond would bunch requests up: the loop turns without one.
    const tick = (): void => {
      for (const now = performance.now(); due < total && start + due * interval <= now; due++) {
        const moment = start + due * interval;
        const connection = free.pop();
        if (connection) connection.send(moment, next());
        else waiting.push(moment);
      }
      if (due < total) setImmediate(tick);
    };
    tick();
  };

  const open = (): Socket => connect({ host: hostname, port: Number(port), noDelay: true });
  for (let i = 0; i < connections; i++) free.push(new Connection(open, onAnswer));
  begin();
};

run(JSON.parse(process.argv[2] ?? '{}') as ArrivalOrders);
