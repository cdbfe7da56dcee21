/**
 * The connections of an HTTP server: the open sockets, how many an address may keep open, and how long a response may
 * stay unread.
 *
 * Node removes its own listeners from a socket that it hands over (`connect`, `upgrade`), and no longer counts or closes
 * it. An `error` without a listener ends the process, so each socket has one from its first moment.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { dropFinishedResponse, lastResponse } from './accept.js';
import { socketAddress } from './caller-address.js';

/** Time in milliseconds for a client to read the last bytes and close its end. */
const CLOSING_MS = 1000;

const ignore = (): void => undefined;

/** Sockets that have not closed yet, handed-over ones included. */
export const openSockets = (server: Server): ReadonlySet<Socket> => {
  const sockets = new Set<Socket>();
  // A connection could not be accepted, for example without a free file descriptor. Later ones can succeed.
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
  // A socket that Node has handed over is paused, and a paused socket does not notice that the client has closed it.
  socket.resume();
  const deadline = setTimeout(() => socket.destroy(), CLOSING_MS).unref();
  socket.once('close', () => clearTimeout(deadline));
};

/**
 * Closes connections past the limit when they are accepted, without a response.
 * @param limit for one IPv4 address or IPv6 /64 network
 * @param options.isExempt true for proxies, whose connections carry many clients
 * @param options.refused called for each closed connection
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
 * Closes the connections of clients that have stopped reading, since unread responses stay in memory. Clients that read
 * slowly are not affected.
 *
 * This relies on socket timeouts: Node compares the bytes that wait to be written with those at the previous timeout. A
 * byte from the client resets the timeout, so a socket with an unread response is not read until the response is sent.
 * @param stallMs longest time without progress
 * @param observe called for each closed connection
 */
export const cutUnreadResponses = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  stallMs: number,
  observe: () => void,
): void => {
  // The first step stops reading from the client. The next two compare the unsent bytes.
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
    // The handler is still working, and no bytes wait to be written.
    if (response && !response.writableFinished && socket.writableLength === 0) {
      socket.setTimeout(step);
      return;
    }
    if (socket.writableLength > 0) observe();
    socket.destroy();
  });
};

/** @returns the port, which the system chooses for 0. Rejects when the port is taken. */
export const listen = async (server: NetServer, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  // Rejects at the event `error`.
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

export const originOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
