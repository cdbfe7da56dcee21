/** A Model Context Protocol server over the tools of a service. It keeps nothing between two calls. */
import type { Server as McpServer } from '@modelcontextprotocol/server';
import { packageVersion } from '../../core/package-root.js';
import { Server } from './sdk.js';
import type { Ask, Tools } from './tools.js';

const INSTRUCTIONS = `Read-only tools, one for each endpoint of the API; each answers with the endpoint's JSON.
Returns, changes and interval bounds are in percent; names that end in _pp are differences of percentages; rates are
fractions from 0 to 1. Nulls are values that are not known. Look codes up in a list before asking for a single item.`;

/** @param ask answers the requests that the tools are */
export const mcpServer = (tools: Tools, ask: Ask): McpServer => {
  const server = new Server(
    { name: 'metro-forecast', version: packageVersion },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools.list }));
  server.setRequestHandler('tools/call', ({ params }) => tools.call(ask, params.name, params.arguments));
  return server;
};
