import { createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { listen, originOf } from '../../core/edge/connections.js';
import { type ListenError, listenError } from '../listen-error.js';
import { type CheckContext, type Finding, failure, ok } from './finding.js';

const ANSWER_MS = 2000;

interface Port {
  readonly check: string;
  readonly host: string;
  readonly port: number;
  /** Resolves with true if the program that listens on the port is probably a service with this configuration. */
  isOurs(origin: string): Promise<boolean>;
}

const fetched = (url: string): Promise<Response> => fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });

const checkOne = async ({ check, host, port, isOurs }: Port, { loaded }: CheckContext): Promise<Finding> => {
  const server = createServer();
  try {
    await listen(server, port, host);
    return ok(check, port === 0 ? `any free port of ${host}` : `${host}:${port} is free`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const origin = originOf(host === '0.0.0.0' || host === '::' ? 'localhost' : host, port);
    if (code === 'EADDRINUSE' && (await isOurs(origin).catch(() => false))) {
      return ok(check, `${host}:${port} is used by a service with the same endpoints, which responds`);
    }
    return failure(check, listenError(error as ListenError, loaded.config));
  } finally {
    server.close();
  }
};

/** Other services might also respond to `/health`, so the OpenAPI document identifies this service. */
const apiPort = ({ loaded, modules }: CheckContext): Port => {
  const { host, port, basePath } = loaded.config.server;
  const { info: own, routes } = modules.registry;
  const endpoints = [...new Set(routes.map(({ route }) => route.path))].sort();
  return {
    check: 'port',
    host,
    port,
    async isOurs(origin) {
      const response = await fetched(`${origin}${basePath}/openapi.json`);
      const { info, paths = {} } = (await response.json()) as { info?: { title?: unknown }; paths?: object };
      return info?.title === own.title && isDeepStrictEqual(Object.keys(paths).sort(), endpoints);
    },
  };
};

const metricsPort = ({ loaded: { config } }: CheckContext): Port | null =>
  config.metrics && {
    check: 'metrics port',
    ...config.metrics,
    isOurs: async (origin) => (await (await fetched(`${origin}/metrics`)).text()).includes('# TYPE snapshot_info '),
  };

export async function* checkPorts(service: CheckContext): AsyncGenerator<Finding> {
  yield await checkOne(apiPort(service), service);
  const ofMetrics = metricsPort(service);
  if (ofMetrics) yield await checkOne(ofMetrics, service);
}
