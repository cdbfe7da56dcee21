/** The response to the last request of a connection, which tells whether an answer is still on its way there. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A property: a weak map would cost more with each request. */
const LAST_RESPONSE = Symbol('last response');

type Connection = Socket & { [LAST_RESPONSE]?: ServerResponse | null };

export const setLastResponse = (socket: Socket, response: ServerResponse): void => {
  (socket as Connection)[LAST_RESPONSE] = response;
};

/** Undefined before the first request; null where it has gone and been let go of. */
export const lastResponse = (socket: Socket): ServerResponse | null | undefined =>
  (socket as Connection)[LAST_RESPONSE];

/**
 * Lets go of one that has gone. An idle connection would take nearly twice the memory with it; and what is alive when the
 * young generation is collected is what that takes time for.
 */
export const letGoOfLastResponse = (socket: Socket): void => {
  const response = lastResponse(socket);
  if (response?.writableFinished && response.shouldKeepAlive) (socket as Connection)[LAST_RESPONSE] = null;
};
