/** The response to the last request of a connection, which tells whether one is still on its way there. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A property of the socket: a weak map would cost more with each request. */
const LAST_RESPONSE = Symbol('last response');

type Connection = Socket & { [LAST_RESPONSE]?: ServerResponse | null };

export const setLastResponse = (socket: Socket, response: ServerResponse): void => {
  (socket as Connection)[LAST_RESPONSE] = response;
};

/** Undefined before the first request; null where the last response was finished and has been dropped. */
export const lastResponse = (socket: Socket): ServerResponse | null | undefined =>
  (socket as Connection)[LAST_RESPONSE];

/** Drops the finished response, so that an idle connection holds no memory of it: nearly half of what it takes. */
export const dropFinishedResponse = (socket: Socket): void => {
  const response = lastResponse(socket);
  if (response?.writableFinished && response.shouldKeepAlive) (socket as Connection)[LAST_RESPONSE] = null;
};
