/** `metro-forecast mcp`: the endpoints as tools for an assistant that starts this command by itself. */
import type { Command } from 'commander';
import { createApp } from '../app/create-app.js';
import { loadConfig } from '../app/load-config.js';
import { OperatorError } from '../core/errors.js';

/** Only this command needs the SDK. */
const loadServer = async () => {
  try {
    const [{ mcpServer }, { toolsOf }, { MAX_ANSWER_BYTES }, { serveStdio }] = await Promise.all([
      import('../plugins/mcp/server.js'),
      import('../plugins/mcp/tools.js'),
      import('../plugins/mcp/index.js'),
      import('@modelcontextprotocol/server/stdio'),
    ]);
    return { mcpServer, toolsOf, MAX_ANSWER_BYTES, serveStdio };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    throw new OperatorError(`This command cannot run: ${error.message}`, [], { cause: error });
  }
};

/** Standard output belongs to the protocol; the log goes to standard error. */
const serve = async (config: string | undefined): Promise<void> => {
  const { mcpServer, toolsOf, MAX_ANSWER_BYTES, serveStdio } = await loadServer();
  const app = await createApp(await loadConfig({ path: config, env: process.env }));
  const connection = serveStdio(() => mcpServer(toolsOf(app.local, MAX_ANSWER_BYTES)));
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve);
    process.once('SIGTERM', resolve).once('SIGINT', resolve);
  });
  await ended;
  await connection.close();
  await app.close();
};

export const register = (program: Command): void => {
  program
    .command('mcp')
    .description('serve the endpoints as tools to an AI assistant over standard input and output')
    .addHelpText(
      'after',
      `
Speaks the Model Context Protocol until its input ends. Assistants start it by themselves and need no API key: it
reads the configured storage directly. For assistants elsewhere, add the plugin "mcp" to the configuration instead:
it serves the same tools at /mcp, with API keys and limits.

Needs the package @modelcontextprotocol/server beside this one.

Examples:
  $ metro-forecast mcp
  $ metro-forecast --config api.json mcp

As an assistant's configuration has it:
  { "mcpServers": { "metro-forecast": { "command": "metro-forecast", "args": ["--config", "/etc/api.json", "mcp"] } } }

Exit codes: 0 the input ended, 1 the service cannot start, 2 wrong usage.`,
    )
    .action((_: unknown, command: Command) => serve(command.optsWithGlobals<{ config?: string }>().config));
};
