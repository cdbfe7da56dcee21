/** Serves metrics to Prometheus on a separate port, without authentication. The port must not be public. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { destroyAll, listen, openSockets, originOf } from '../edge/connections.js';

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MetricsServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 100;

export const serveMetrics = async (
  { host, port }: { readonly host: string; readonly port: number },
  read: () => string | Promise<string>,
): Promise<MetricsServer> => {
  const server = createServer(
    { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS, connectionsCheckingInterval: 1000 },
    (request, response) => void respond(request, response, read),
  );
  const sockets = openSockets(server);
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = TIMEOUT_MS;
  const bound = await listen(server, port, host);
  return {
    url: `${originOf(host, bound)}/metrics`,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        destroyAll(sockets);
      }),
  };
};

const respond = async (
  { url, method }: IncomingMessage,
  response: ServerResponse,
  read: () => string | Promise<string>,
): Promise<void> => {
  if (url !== '/metrics') response.writeHead(404, { 'Content-Type': 'text/plain' }).end('See /metrics.\n');
  else if (method !== 'GET') response.writeHead(405, { Allow: 'GET' }).end();
  else {
    try {
      response.setHeader('Content-Type', CONTENT_TYPE).end(await read());
    } catch {
      // Sends no response, so that Prometheus records a failed scrape.
      response.destroy();
    }
  }
};
