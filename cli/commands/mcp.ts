import type { Command } from 'commander';
import { OperatorError } from '../../core/errors.js';
import { importErrorReason } from '../../core/registry/load-module.js';
import { createApp, loadConfig } from '../../product.js';

/** The plugin is loaded only when the command runs, because the MCP SDK is an optional package. */
const loadServer = () =>
  import('../../plugins/mcp/server.js').catch((error: unknown) => {
    throw new OperatorError(`This command cannot run: ${importErrorReason(error as Error)}`, [], { cause: error });
  });

/** Serves until standard input closes or a signal arrives. The log is written to standard error. */
const serve = async (config: string | undefined): Promise<void> => {
  const { serveOverStdio } = await loadServer();
  const app = await createApp(await loadConfig({ path: config }));
  const ended = new Promise<void>((resolve) => {
    const end = () => resolve();
    process.stdin.once('end', end).once('close', end);
    process.once('SIGTERM', end).once('SIGINT', end);
  });
  const connection = await serveOverStdio(app.local);
  await ended;
  await connection.close();
  await app.close();
};

export const register = (command: Command): void => {
  command
    .addHelpText(
      'after',
      `
Speaks the Model Context Protocol until its input ends. Assistants on this machine start the command and need no API
key, because the command reads the configured storage directly. For remote assistants, add the plugin "mcp" to the
configuration. The plugin serves the same tools at /mcp, with API keys and limits.

Requires the package @modelcontextprotocol/server.

Examples:
  $ metro-forecast mcp
  $ metro-forecast --config api.json mcp

In the configuration of an assistant:
  { "mcpServers": { "metro-forecast": { "command": "metro-forecast", "args": ["--config", "/etc/api.json", "mcp"] } } }

Exit codes: 0 the input ended, 1 the service cannot start, 2 wrong usage.`,
    )
    .action((_: unknown, command: Command) => serve(command.optsWithGlobals<{ config?: string }>().config));
};
