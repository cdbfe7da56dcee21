import type { Config } from '../core/config/schema.js';
import { OperatorError } from '../core/errors.js';

export interface ListenError extends NodeJS.ErrnoException {
  readonly port?: number;
}

export const listenError = (error: ListenError, { server, metrics }: Pick<Config, 'server' | 'metrics'>): Error => {
  const isMetricsPort = metrics !== null && metrics.port !== server.port && error.port === metrics.port;
  const { host, port } = isMetricsPort ? metrics : server;
  const [setHost, setPort] = isMetricsPort
    ? ['metrics.host', 'metrics.port']
    : ['HOST or server.host', 'PORT or server.port'];
  const reasons: Record<string, string> = {
    EADDRINUSE: `port ${port} is already in use; set ${setPort} to a different port, or to 0 for any free port`,
    EACCES: `this user may not listen on port ${port}; set ${setPort} to a port above 1023`,
    EADDRNOTAVAIL: `this machine has no address ${host}; set ${setHost} to one of its addresses`,
    ENOTFOUND: `"${host}" is not an address of this machine; set ${setHost} to one of its addresses`,
  };
  const reason = reasons[error.code ?? ''];
  return reason ? new OperatorError(`Cannot listen on ${host}:${port}: ${reason}.`, [], { cause: error }) : error;
};
