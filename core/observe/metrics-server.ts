/** Serves metrics to Prometheus on a port of its own, without a key and not for the public. */
import { createServer } from 'node:http';
import { listen, originOf } from '../edge/listen.js';

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MetricsServer {
  /** With the port that the system chose for port 0. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects when the port is taken. @param read gives the whole page */
export const serveMetrics = async (
  { host, port }: { readonly host: string; readonly port: number },
  read: () => string | Promise<string>,
): Promise<MetricsServer> => {
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') response.writeHead(404, { 'Content-Type': 'text/plain' }).end('See /metrics.\n');
    else if (request.method !== 'GET') response.writeHead(405, { Allow: 'GET' }).end();
    else response.writeHead(200, { 'Content-Type': CONTENT_TYPE }).end(await read());
  });
  server.maxConnections = 100;
  server.timeout = 10_000;
  const bound = await listen(server, port, host);
  return {
    url: `${originOf(host, bound)}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
