/** Opens listeners. */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** @returns the port, which the system chooses for 0. Rejects when the port is taken. */
export const listen = async (server: Server, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  // Rejects at the event `error`.
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

export const originOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
