/**
 * Keeps the last response on each connection, to show whether the client is still waiting. `accept.ts` stores it as a
 * property of the socket, which costs less per request than a weak map.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export const LAST_RESPONSE = Symbol('last response');

export type Connection = Socket & { [LAST_RESPONSE]?: ServerResponse | null };

/** Returns undefined before the first request, and null after `releaseResponse`. */
export const lastResponse = (socket: Socket): ServerResponse | null | undefined =>
  (socket as Connection)[LAST_RESPONSE];

/** Marks the socket as having no pending response. */
export const releaseResponse = (socket: Socket): void => {
  (socket as Connection)[LAST_RESPONSE] = null;
};

/** Releases a finished response. It would otherwise take up nearly half of the memory of an idle connection. */
export const dropFinishedResponse = (socket: Socket): void => {
  const response = lastResponse(socket);
  if (response && isReusable(response)) releaseResponse(socket);
};

/** Whether the exchange is complete and the connection can carry another request. */
export const isReusable = ({ writableFinished, shouldKeepAlive, req }: ServerResponse): boolean =>
  writableFinished && shouldKeepAlive && req.complete;
