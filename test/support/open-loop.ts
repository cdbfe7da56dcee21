/** Sends HEAD requests at a fixed rate, regardless of response times. Latency is measured from the scheduled time. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Arrival {
  /** 0 if the connection ended without a response. */
  readonly status: number;
  readonly retryAfter: boolean;
  readonly ms: number;
}

interface Connection {
  readonly socket: Socket;
  due: number;
  received: string;
}

/** If all 500 connections are busy, requests wait. Their latency includes the waiting time. */
const MOST_CONNECTIONS = 500;

export class OpenLoop {
  readonly #port: number;
  readonly #localAddress: string;
  readonly #request: () => string;
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  #arrivals: Arrival[] = [];
  #busy = 0;
  #asksAgain = false;
  readonly #waiting: number[] = [];

  constructor(port: number, path: string | (() => string), key: string | (() => string), localAddress = '127.0.0.1') {
    this.#port = port;
    this.#localAddress = localAddress;
    const nextOf = (what: string | (() => string)) => (typeof what === 'string' ? () => what : what);
    const [nextPath, nextKey] = [nextOf(path), nextOf(key)];
    this.#request = () => `HEAD ${nextPath()} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${nextKey()}\r\n\r\n`;
  }

  async run(perSecond: number, seconds: number): Promise<readonly Arrival[]> {
    this.#arrivals = [];
    const since = performance.now();
    const total = Math.round(perSecond * seconds);
    for (let sent = 0; sent < total; ) {
      const passed = performance.now() - since;
      for (; sent < total && (sent / perSecond) * 1000 <= passed; sent++) this.#send(since + (sent / perSecond) * 1000);
      await delay(1);
    }
    while (this.#busy > 0) await delay(5);
    return this.#arrivals;
  }

  /** Returns the number of 200 responses per second. Each connection sends a request as soon as it gets a response. */
  async capacity(connections: number, seconds: number): Promise<number> {
    this.#arrivals = [];
    this.#asksAgain = true;
    for (let i = 0; i < connections; i++) this.#send(performance.now());
    await delay(seconds * 1000);
    this.#asksAgain = false;
    const served = this.#arrivals.filter(({ status }) => status === 200).length;
    while (this.#busy > 0) await delay(5);
    return served / seconds;
  }

  close(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #send(due: number): void {
    this.#busy++;
    const connection = this.#idle.pop() ?? (this.#all.size < MOST_CONNECTIONS ? this.#open() : undefined);
    if (connection) this.#write(connection, due);
    else this.#waiting.push(due);
  }

  #write(connection: Connection, due: number): void {
    connection.due = due;
    connection.received = '';
    connection.socket.write(this.#request());
  }

  #open(): Connection {
    const socket = connect({ port: this.#port, host: '127.0.0.1', localAddress: this.#localAddress });
    const connection: Connection = { socket, due: 0, received: '' };
    this.#all.add(connection);
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => {
      connection.received += text;
      const { received } = connection;
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.#answered(connection, Number(received.slice(9, 12)), /\r\nRetry-After: \d/i.test(received.slice(0, end)));
      const next = this.#asksAgain ? performance.now() : this.#waiting.shift();
      if (next === undefined) this.#idle.push(connection);
      else {
        if (this.#asksAgain) this.#busy++;
        this.#write(connection, next);
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#all.delete(connection);
      const idle = this.#idle.indexOf(connection);
      if (idle >= 0) this.#idle.splice(idle, 1);
      else this.#answered(connection, 0, false);
    });
    return connection;
  }

  #answered({ due }: Connection, status: number, retryAfter: boolean): void {
    this.#busy--;
    this.#arrivals.push({ status, retryAfter, ms: performance.now() - due });
  }
}
