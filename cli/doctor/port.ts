/** Whether the service could listen, or listens already. */
import { createServer } from 'node:net';
import { listen, originOf } from '../../core/http/listen.js';
import { type ListenError, listenFault } from '../listen-fault.js';
import { type Finding, failure, type Patient } from './finding.js';

const ANSWER_MS = 2000;

/** Whether what listens there is a service with our `/health`. */
const isServing = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const { status } = (await response.json()) as { status?: unknown };
    return response.ok && status === 'ok';
  } catch {
    return false;
  }
};

export const checkPort = async ({ loaded }: Patient): Promise<Finding> => {
  const { host, port, basePath } = loaded.config.server;
  const server = createServer();
  try {
    await listen(server, port, host);
    const message = port === 0 ? `a free port of ${host} at each start` : `${host}:${port} is free`;
    return { check: 'port', state: 'ok', message };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const origin = originOf(host === '0.0.0.0' || host === '::' ? 'localhost' : host, port);
    if (code === 'EADDRINUSE' && (await isServing(`${origin}${basePath}`))) {
      return { check: 'port', state: 'ok', message: `${host}:${port} is taken by a service that answers well` };
    }
    return failure('port', listenFault(error as ListenError, loaded.config));
  } finally {
    server.close();
  }
};
