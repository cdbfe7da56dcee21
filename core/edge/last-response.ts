/**
 * The last response on each connection, which shows whether the client still waits. `accept.ts` records it as a property
 * of the socket, which costs less per request than a weak map.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export const LAST_RESPONSE = Symbol('last response');

export type Connection = Socket & { [LAST_RESPONSE]?: ServerResponse | null };

/** Returns undefined before the first request, and null if the last response was finished and has been released. */
export const lastResponse = (socket: Socket): ServerResponse | null | undefined =>
  (socket as Connection)[LAST_RESPONSE];

/** After this call, the socket has no response to wait for. */
export const releaseResponse = (socket: Socket): void => {
  (socket as Connection)[LAST_RESPONSE] = null;
};

/** Releases the finished response, which would account for nearly half of the memory of an idle connection. */
export const dropFinishedResponse = (socket: Socket): void => {
  const response = lastResponse(socket);
  if (response && isReusable(response)) releaseResponse(socket);
};

/** Whether the exchange is complete, so that the client can send the next request on its connection. */
export const isReusable = ({ writableFinished, shouldKeepAlive, req }: ServerResponse): boolean =>
  writableFinished && shouldKeepAlive && req.complete;
