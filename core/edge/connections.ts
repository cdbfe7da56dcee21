/**
 * The connections of an HTTP server: which sockets are open, how many connections an address may keep open, and how
 * long a response may remain unread.
 *
 * When Node hands a socket over (`connect`, `upgrade`), it removes its own listeners and no longer counts or closes the
 * socket. An `error` event without a listener would end the process, so every socket gets a listener immediately.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { socketAddress } from './caller-address.js';
import { dropFinishedResponse, lastResponse } from './last-response.js';

/** The time in milliseconds that a client has to read the last bytes and close its end of the connection. */
const CLOSING_MS = 1000;

const ignore = (): void => undefined;

/** Returns the sockets that have not closed yet, including handed-over ones. */
export const openSockets = (server: Server): ReadonlySet<Socket> => {
  const sockets = new Set<Socket>();
  // A connection could not be accepted, for example for lack of file descriptors. Later connections can succeed.
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
  // A handed-over socket is paused, and a paused socket does not notice that the client has closed the connection.
  socket.resume();
  const deadline = setTimeout(() => socket.destroy(), CLOSING_MS).unref();
  socket.once('close', () => clearTimeout(deadline));
};

/**
 * Closes connections beyond the limit as soon as they are accepted, without a response.
 * @param limit the maximum number of connections per IPv4 address or IPv6 /64 network
 * @param options.isExempt returns true for proxies, whose connections belong to many clients
 * @param options.refused called for each connection that is closed
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
 * Closes the connections of clients that have stopped reading, because unread responses stay in memory. Clients that
 * read slowly are not affected.
 *
 * This relies on socket timeouts. At each timeout, Node compares the number of unsent bytes with the number at the
 * previous one. Any byte from the client would reset the timeout, so while a response is unread, nothing is read from
 * its socket.
 * @param stallMs the maximum time without progress
 * @param observe called for each connection that is closed
 */
export const cutUnreadResponses = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  stallMs: number,
  observe: () => void,
): void => {
  // In the first step, the socket is paused. In the next two, the numbers of unsent bytes are compared.
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
    // Before the first request, `headersTimeout` applies.
    if (response === undefined) return;
    // The handler is still working, and there are no unsent bytes.
    if (response && !response.writableFinished && socket.writableLength === 0) {
      socket.setTimeout(step);
      return;
    }
    if (socket.writableLength > 0) observe();
    socket.destroy();
  });
};

/** @returns the port, which the system chooses if `port` is 0. Rejects if the port is in use. */
export const listen = async (server: NetServer, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  // This rejects if the server emits `error`.
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

export const originOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
