/** The tools over standard input and output, for an assistant that starts the process itself. */
import type { MountContext } from '../../core/contracts/plugin.js';
import { loadStdio } from './sdk.js';
import { mcpServer } from './server.js';
import { MAX_ANSWER_BYTES, toolsOf } from './tools.js';

/** Serves until `close`. Standard output belongs to the protocol from now on. */
export const serveOverStdio = async (context: MountContext): Promise<{ close(): Promise<void> }> => {
  const { serveStdio } = await loadStdio();
  const tools = toolsOf(context.routes, MAX_ANSWER_BYTES);
  return serveStdio(() => mcpServer(tools, context));
};
