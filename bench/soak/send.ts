/** Requests of the abuse and of the caller beside it. */
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Sent {
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

/** Sends bytes, and reads all that comes back or nothing of it, until the server closes or `ms` have passed. */
export const sendRaw = (port: number, bytes: string, { reads = true, ms = 1000 } = {}): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    if (reads) socket.resume();
    else socket.pause();
    socket.on('error', () => undefined);
    socket.once('close', () => resolve());
    setTimeout(() => socket.destroy(), ms);
  });

/** Calls `task` at a steady rate, without waiting for the calls before; resolves when all have ended. */
export const repeat = async (perSecond: number, ms: number, task: () => Promise<unknown>): Promise<void> => {
  const since = performance.now();
  const running: Promise<unknown>[] = [];
  for (let i = 0; performance.now() - since < ms; i++) {
    running.push(task());
    await delay(Math.max(0, since + ((i + 1) * 1000) / perSecond - performance.now()));
  }
  await Promise.all(running);
};
