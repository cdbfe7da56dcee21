/** A Model Context Protocol server over the tools of a service. It keeps nothing between two calls. */
import type { Server as McpServer } from '@modelcontextprotocol/server';
import type { MountContext } from '../../core/contracts/plugin.js';
import { packageVersion } from '../../core/package-root.js';
import { Server } from './sdk.js';
import type { Tools } from './tools.js';

const INSTRUCTIONS = "Read-only tools, one for each endpoint of the API; each answers with the endpoint's JSON.";

/** @param mount who the service is, and its answers to the requests that the tools are */
export const mcpServer = (tools: Tools, { service, request }: Pick<MountContext, 'service' | 'request'>): McpServer => {
  const server = new Server(
    { name: service.name, version: packageVersion },
    { capabilities: { tools: {} }, instructions: `${INSTRUCTIONS}\n${service.instructions}` },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools.list }));
  server.setRequestHandler('tools/call', ({ params }) => tools.call(request, params.name, params.arguments));
  return server;
};
