/**
 * Open-loop load: requests fall due at a fixed rate, whether or not earlier ones have been answered, and each is timed
 * from the moment at which it fell due. A server that stalls is thus charged for every request that had to wait, which
 * a closed loop leaves out ("coordinated omission", Gil Tene).
 *
 * A process of its own, to be bound to a core. Takes `ArrivalOrders` as JSON, prints `ArrivalResult` as JSON.
 */
import { connect, type Socket } from 'node:net';
import { AnswerHeadReader } from './answer-head.js';
import { percentile } from './statistics.js';

export interface ArrivalOrders {
  readonly url: string;
  readonly key: string;
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

/** One keep-alive connection with at most one request on its way. */
class Connection {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #answered: (due: number, connection: Connection) => void;
  #due = 0;
  /** Bytes of the answer that have not come yet; NaN while its head has not. */
  #left = Number.NaN;
  readonly #head = new AnswerHeadReader();

  constructor(socket: Socket, request: Buffer, answered: (due: number, connection: Connection) => void) {
    this.#socket = socket;
    this.#request = request;
    this.#answered = answered;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('The server has closed a connection.')));
  }

  send(due: number): void {
    this.#due = due;
    this.#left = Number.NaN;
    this.#socket.write(this.#request);
  }

  #receive(chunk: Buffer): void {
    if (Number.isNaN(this.#left)) this.#readHead(chunk);
    else this.#left -= chunk.length;
    if (this.#left === 0) this.#answered(this.#due, this);
  }

  #readHead(chunk: Buffer): void {
    const head = this.#head.read(chunk);
    if (!head) return;
    const { text, length, begun } = head;
    if (!text.startsWith('HTTP/1.1 200')) fail(new Error(`The server answers: ${text}`));
    this.#left = (length ?? fail(new Error('The server does not say how long its answer is.'))) - begun;
  }
}

const fail = (error: Error): never => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
};

const run = ({ url, key, rate, seconds, warmUpSeconds, connections }: ArrivalOrders): void => {
  const { hostname, port, host, pathname, search } = new URL(url);
  const head = [`GET ${pathname}${search} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${key}`, '', ''];
  const request = Buffer.from(head.join('\r\n'));
  const total = Math.round(rate * (warmUpSeconds + seconds));
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
    else if (waitingFrom < waiting.length) connection.send(waiting[waitingFrom++]!);
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
        if (connection) connection.send(moment);
        else waiting.push(moment);
      }
      if (due < total) setImmediate(tick);
    };
    tick();
  };

  for (let i = 0; i < connections; i++) {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () => {
      free.push(new Connection(socket, request, onAnswer));
      if (free.length === connections) begin();
    });
    socket.on('error', fail);
  }
};

run(JSON.parse(process.argv[2] ?? '{}') as ArrivalOrders);
