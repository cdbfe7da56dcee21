import { Server } from '@modelcontextprotocol/server';
import { type MountContext, version } from 'metro-forecast-api/plugin';
import { MAX_ANSWER_BYTES, type Tools, toolsOf } from './tools.js';

const INSTRUCTIONS =
  'Read-only tools, one per API endpoint. Each result is the JSON that the endpoint returns. If a list has a next page, ' +
  'a second text contains the argument for it.';

export const mcpServer = (tools: Tools, { info, request }: Pick<MountContext, 'info' | 'request'>): Server => {
  const server = new Server(
    { name: info.name, version },
    { capabilities: { tools: {} }, instructions: `${INSTRUCTIONS}\n${info.instructions}` },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools.list }));
  server.setRequestHandler('tools/call', ({ params }) => tools.call(request, params.name, params.arguments));
  return server;
};

/**
 * Serves the tools on standard input and output, for assistants that start the service as a child process. Any other
 * output on standard output would break the protocol.
 */
export const serveOverStdio = async (context: MountContext): Promise<{ close(): Promise<void> }> => {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const tools = toolsOf(context.routes, MAX_ANSWER_BYTES);
  return serveStdio(() => mcpServer(tools, context));
};
