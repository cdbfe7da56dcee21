import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { FastResponse } from '../response/writer.js';
import type { Listener } from './accept.js';
import { releaseResponse } from './last-response.js';

interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, { readonly head: Buffer; readonly response: FastResponse }>();

/** Adds a response object to each upgrade request, so that the listener can respond or take over the connection. */
export const acceptUpgrades = (server: Server, accept: Listener): void => {
  server.on('upgrade', (request, stream, head) => {
    const socket = stream as Socket;
    const response = new FastResponse(request);
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    upgrades.set(request, { head, response });
    accept(request, response);
  });
};

export const canUpgrade = (request: IncomingMessage): boolean => upgrades.has(request);

/**
 * Hands the socket of an upgrade request to a mount. The service applies no timeouts to the socket, but closes it on
 * shutdown.
 */
export const takeOver = (request: IncomingMessage): Upgrade => {
  const { head, response } = upgrades.get(request)!;
  const { socket } = request;
  response.statusCode = 101;
  response.detachSocket(socket);
  releaseResponse(socket);
  socket.setTimeout(0);
  return { socket, head };
};
