/**
 * Tracks sockets, because Node stops tracking a socket and listening for its errors after a CONNECT or upgrade request.
 * An `error` event without a listener would crash the process.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { socketAddress } from './caller-address.js';
import { dropFinishedResponse, lastResponse } from './last-response.js';

const CLOSING_MS = 1000;

const ignore = (): void => undefined;

export const openSockets = (server: Server): ReadonlySet<Socket> => {
  const sockets = new Set<Socket>();
  // Server errors such as a lack of file descriptors do not prevent the server from accepting connections later.
  server.on('error', ignore);
  server.prependListener('connection', (socket: Socket) => {
    socket.on('error', ignore);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
};

export const destroyAll = (sockets: Iterable<Socket>): void => {
  for (const socket of sockets) socket.destroy();
};

export const closeSoon = (socket: Socket): void => {
  // Upgraded sockets are paused, and a paused socket does not notice when the client disconnects.
  socket.resume();
  const deadline = setTimeout(() => socket.destroy(), CLOSING_MS).unref();
  socket.once('close', () => clearTimeout(deadline));
};

/** Limits the connections per client address, except for trusted proxies, which carry the requests of many clients. */
export const limitConnections = (
  server: Server,
  limit: number,
  { isExempt, refused }: { readonly isExempt: (socket: Socket) => boolean; readonly refused: () => void },
): void => {
  const open = new Map<string, number>();
  server.prependListener('connection', (socket: Socket) => {
    if (isExempt(socket)) return;
    const address = socketAddress(socket);
    const count = open.get(address) ?? 0;
    if (count >= limit) {
      socket.destroy();
      refused();
      return;
    }
    open.set(address, count + 1);
    socket.once('close', () => {
      const left = open.get(address)! - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
};

/**
 * Closes connections whose clients have stopped reading, because unread responses stay in memory. Clients that read
 * slowly stay connected. Node emits `timeout` if a socket receives no bytes and its number of unsent bytes does not
 * change. A client could prevent the timeout by sending bytes, so a socket with unsent bytes is paused.
 * @param stallMs how long a client may stop reading, in milliseconds
 */
export const cutUnreadResponses = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  stallMs: number,
  observe: () => void,
): void => {
  // Node needs two timeouts to detect that the number of unsent bytes does not change.
  const step = Math.ceil(stallMs / 2);
  const sweep = setInterval(() => {
    for (const socket of sockets) {
      dropFinishedResponse(socket);
      const response = socket.writableLength > 0 && !socket.isPaused() ? lastResponse(socket) : null;
      if (!response || response.writableFinished) continue;
      socket.pause();
      response.once('finish', () => socket.resume());
    }
  }, step / 2).unref();
  server.once('close', () => clearInterval(sweep));

  server.timeout = step;
  server.on('timeout', (socket) => {
    const response = lastResponse(socket);
    if (response === undefined) return;
    if (response && !response.writableFinished && socket.writableLength === 0) {
      socket.setTimeout(step);
      return;
    }
    if (socket.writableLength > 0) observe();
    socket.destroy();
  });
};

export const listen = async (server: NetServer, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

export const originOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
