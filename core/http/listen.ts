/** Makes a server listen, and says where it can be called. */
import type { AddressInfo, Server } from 'node:net';

/**
 * Rejects when the port is taken.
 *
 * @returns the port: for 0, the one that the system chose
 */
export const listen = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

export const originOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
