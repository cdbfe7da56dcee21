/**
 * Stores the last response of each connection in a property of the socket, which is faster than a weak map. The
 * response shows whether the client is still waiting.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export const LAST_RESPONSE = Symbol('last response');

export type Connection = Socket & { [LAST_RESPONSE]?: ServerResponse | null };

/** Returns undefined before the first request, and null after `releaseResponse`. */
export const lastResponse = (socket: Socket): ServerResponse | null | undefined =>
  (socket as Connection)[LAST_RESPONSE];

export const releaseResponse = (socket: Socket): void => {
  (socket as Connection)[LAST_RESPONSE] = null;
};

/** Drops a finished response, because it would account for nearly half the memory of an idle connection. */
export const dropFinishedResponse = (socket: Socket): void => {
  const response = lastResponse(socket);
  if (response && isReusable(response)) releaseResponse(socket);
};

export const isReusable = ({ writableFinished, shouldKeepAlive, req }: ServerResponse): boolean =>
  writableFinished && shouldKeepAlive && req.complete;
