/** Requests of the attackers and of the measured caller. */
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Sent {
  /** 0 if the connection was closed without a response. */
  readonly status: number;
  readonly ms: number;
}

const defaultAgent = new Agent({ keepAlive: true, maxSockets: 64 });

export const send = (
  port: number,
  path: string,
  headers: Record<string, string>,
  body?: string,
  agent = defaultAgent,
): Promise<Sent> =>
  new Promise((resolve) => {
    const since = performance.now();
    const settle = (status: number) => resolve({ status, ms: performance.now() - since });
    const asked = request({ port, path, headers, agent, method: body === undefined ? 'GET' : 'POST' }, (response) => {
      response.resume().once('close', () => settle(response.statusCode ?? 0));
    });
    asked.once('error', () => settle(0));
    asked.end(body);
  });

/**
 * Sends bytes on a connection of its own, until the server closes it or `ms` have passed.
 * @returns no statuses
 */
export const sendRaw = (port: number, bytes: string, { reads = true, ms = 1000 } = {}): Promise<readonly number[]> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    if (reads) socket.resume();
    else socket.pause();
    socket.on('error', () => undefined);
    socket.once('close', () => resolve([]));
    setTimeout(() => socket.destroy(), ms);
  });

const STATUS_LINE = /HTTP\/1\.1 (\d{3})/g;
const STATUS_LINE_LENGTH = 12;

/** Sends requests on a connection of its own. @returns the statuses of the responses, once the server closes it */
export const readStatuses = (port: number, bytes: string): Promise<readonly number[]> =>
  new Promise((resolve) => {
    const statuses: number[] = [];
    // A status line may be split between two chunks.
    let rest = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => {
      const text = rest + chunk.toString('latin1');
      for (const [, status] of text.matchAll(STATUS_LINE)) statuses.push(Number(status));
      rest = text.slice(1 - STATUS_LINE_LENGTH);
    });
    socket.on('error', () => statuses.push(0));
    socket.once('close', () => resolve(statuses));
  });

/** Calls `task` at a steady rate, without waiting for earlier calls. Resolves when all have ended. */
export const repeat = async (perSecond: number, ms: number, task: () => Promise<unknown>): Promise<void> => {
  const since = performance.now();
  const running: Promise<unknown>[] = [];
  for (let i = 0; performance.now() - since < ms; i++) {
    running.push(task());
    await delay(Math.max(0, since + ((i + 1) * 1000) / perSecond - performance.now()));
  }
  await Promise.all(running);
};
