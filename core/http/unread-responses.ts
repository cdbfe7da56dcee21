/** Cuts off clients that do not read their responses, which would otherwise stay in memory for as long as they like. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { dropFinishedResponse, lastResponse } from './last-response.js';

/**
 * A slow reader is not one that stands still: however little it reads, it goes on. Node can tell, for a socket's
 * timeout compares what waits to be written with what waited at the timeout before; but any byte that the client sends
 * puts that off, so a connection with a waiting response is not read from until that response has gone.
 * @param stallMs how long a response may stand still, at most
 * @param observe told of each connection that was cut
 */
export const cutUnreadResponses = (server: Server, stallMs: number, observe: () => void): void => {
  // One to stop the reading, two to compare.
  const step = Math.ceil(stallMs / 3);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

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
    // Before the first request, Node's own check of heads holds.
    if (response === undefined) return;
    // A handler that takes its time: nothing waits to be written.
    if (response && !response.writableFinished && socket.writableLength === 0) {
      socket.setTimeout(step);
      return;
    }
    if (socket.writableLength > 0) observe();
    socket.destroy();
  });
};
