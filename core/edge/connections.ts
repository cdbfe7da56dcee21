/**
 * Tracks the open sockets of an HTTP server, limits connections per address, and closes connections whose clients stop
 * reading.
 *
 * When Node hands a socket over (`connect`, `upgrade`), it removes its own listeners and no longer tracks the socket.
 * Without a listener, an `error` event would then crash the process, so an `error` listener is added to every socket as
 * soon as it connects.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { socketAddress } from './caller-address.js';
import { dropFinishedResponse, lastResponse } from './last-response.js';

/** Time for a client to read the last bytes and close its end of the connection. */
const CLOSING_MS = 1000;

const ignore = (): void => undefined;

/** Returns a live set of open sockets, including sockets that Node has handed over. */
export const openSockets = (server: Server): ReadonlySet<Socket> => {
  const sockets = new Set<Socket>();
  // A connection could not be accepted, for example because there are no free file descriptors. Later connections can
  // succeed.
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

/** Destroys a socket after `CLOSING_MS`, unless the client closes it first. */
export const closeSoon = (socket: Socket): void => {
  // A socket handed over by Node is paused, and a paused socket does not notice that the client has closed the
  // connection.
  socket.resume();
  const deadline = setTimeout(() => socket.destroy(), CLOSING_MS).unref();
  socket.once('close', () => clearTimeout(deadline));
};

/**
 * Closes excess connections as soon as they are accepted, without a response.
 * @param limit maximum number of connections per IPv4 address or IPv6 /64 network
 * @param options.isExempt returns true for proxies, whose connections carry requests from many clients
 * @param options.refused called for each connection closed by this limit
 */
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
 * Closes the connections of clients that have stopped reading, because unread responses stay in memory. Slow readers
 * are not affected.
 *
 * This relies on socket timeouts: at each timeout, Node checks whether the number of unsent bytes has changed since the
 * previous one. Any byte from the client would reset the timeout, so a socket is paused while it has unsent bytes.
 * @param stallMs maximum time without progress, in milliseconds
 * @param observe called for each connection closed by this check
 */
export const cutUnreadResponses = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  stallMs: number,
  observe: () => void,
): void => {
  // The first step pauses the socket. The next two compare the number of unsent bytes.
  const step = Math.ceil(stallMs / 3);
  const sweep = setInterval(() => {
    for (const socket of sockets) {
      dropFinishedResponse(socket);
      const response = socket.writableLength > 0 && !socket.isPaused() ? lastResponse(socket) : null;
      if (!response || response.writableFinished) continue;
      socket.pause();
      response.once('finish', () => socket.resume());
    }
  }, step).unref();
  server.once('close', () => clearInterval(sweep));

  server.timeout = step;
  server.on('timeout', (socket) => {
    const response = lastResponse(socket);
    // `headersTimeout` applies until the first request has arrived.
    if (response === undefined) return;
    if (response && !response.writableFinished && socket.writableLength === 0) {
      socket.setTimeout(step);
      return;
    }
    if (socket.writableLength > 0) observe();
    socket.destroy();
  });
};

/** Rejects if the port is already in use. @returns the actual port, which the system chooses if `port` is 0 */
export const listen = async (server: NetServer, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

export const originOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
