/**
 * The open sockets of an HTTP server.
 *
 * Node removes its own listeners from a socket that it hands over (`connect`, `upgrade`), and no longer counts or closes
 * it. An `error` without a listener ends the process, so each socket has one from its first moment.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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

/** A property of the socket, which costs less for each request than a weak map. */
const LAST_RESPONSE = Symbol('last response');

type Connection = Socket & { [LAST_RESPONSE]?: ServerResponse | null };

export const setLastResponse = (socket: Socket, response: ServerResponse): void => {
  (socket as Connection)[LAST_RESPONSE] = response;
};

/** Undefined before the first request; null where the last response was finished and has been dropped. */
export const lastResponse = (socket: Socket): ServerResponse | null | undefined =>
  (socket as Connection)[LAST_RESPONSE];

/** Releases the finished response, which would take nearly half of the memory of an idle connection. */
export const dropFinishedResponse = (socket: Socket): void => {
  const response = lastResponse(socket);
  const isOver = response?.writableFinished && response.shouldKeepAlive && response.req.complete;
  if (isOver) (socket as Connection)[LAST_RESPONSE] = null;
};
