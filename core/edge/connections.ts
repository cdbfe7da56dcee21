/** Bounds on connections: how many an address may keep open, and how long a client may leave its response unread. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { socketAddress } from './caller-address.js';
import { dropFinishedResponse, lastResponse } from './sockets.js';

/**
 * Closes connections beyond the limit when they are accepted, before a byte is read. They get no response, since a
 * client with that many connections does not wait for one.
 * @param limit of one IPv4 address or IPv6 /64 network
 * @param options.isExempt of proxies, over whose connections many callers come
 * @param options.refused told of each that was closed
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
 * Cuts off clients that do not read their responses, which would stay in memory for as long as the client likes.
 *
 * A client that reads slowly is not cut off, but a client that has stopped reading. A socket's timeout tells, since
 * Node compares what waits to be written with what waited at the timeout before. Any byte from the client resets the
 * timeout, so a connection with an unread response is not read from until the response is gone.
 * @param stallMs how long a response may stand still, at most
 * @param observe told of each connection that was cut
 */
export const cutUnreadResponses = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  stallMs: number,
  observe: () => void,
): void => {
  // The first step stops reading from the client, the next two compare.
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
    // Before the first request, Node's own limit on the time of heads applies.
    if (response === undefined) return;
    // The handler is still at work: no bytes wait to be written.
    if (response && !response.writableFinished && socket.writableLength === 0) {
      socket.setTimeout(step);
      return;
    }
    if (socket.writableLength > 0) observe();
    socket.destroy();
  });
};
