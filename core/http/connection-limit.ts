/** How many connections one address may keep open. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { socketAddress } from './caller-address.js';

/**
 * Closes connections beyond the limit as they come, before a byte of them is read. They get no answer: whoever opens
 * that many is not waiting for one.
 * @param limit of one IPv4 address or IPv6 /64 network
 * @param refused told of each that was closed
 */
export const limitConnections = (server: Server, limit: number, refused: () => void): void => {
  const open = new Map<string, number>();
  server.prependListener('connection', (socket: Socket) => {
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
