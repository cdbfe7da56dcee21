import type { Command } from 'commander';
import { originOf } from '../../core/edge/connections.js';
import { OperatorError } from '../../core/errors.js';
import { loadConfig } from '../../product.js';
import { print } from '../output.js';
import { EXIT_CODES } from '../report.js';

const TIMEOUT_MS = 2000;

const ask = async (path: string | undefined): Promise<void> => {
  const { config } = await loadConfig({ path });
  const { host, port, basePath } = config.server;
  const url = `${originOf(host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port)}${basePath}/ready`;
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((cause: Error) => {
    throw new OperatorError(`${url} does not respond. Is the service running?`, [], { cause });
  });
  // /ready responds with 404 if the plugin "status" is not installed. The service is then ready too.
  if (response.status >= 500)
    throw new OperatorError(`${url} responds with ${response.status}: ${await response.text()}`);
  print(`${url} responds with ${response.status}.`);
};

export const register = (command: Command): void => {
  command
    .addHelpText(
      'after',
      `
Use it in scripts and in the health checks of containers. Address, port and path come from the configuration.

Example:
  $ metro-forecast --config api.json ready

Exit codes: ${EXIT_CODES}.`,
    )
    .action((_: unknown, command: Command) => ask(command.optsWithGlobals<{ config?: string }>().config));
};
