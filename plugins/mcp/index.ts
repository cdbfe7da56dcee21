/**
 * Serves the API at `/mcp` as tools for AI assistants, using the Model Context Protocol. API keys and rate limits
 * apply.
 */
import { ApiError, definePlugin, errors, version } from 'metro-forecast-api/plugin';
import { checkBrowser, respond } from './http.js';
import { MAX_ANSWER_BYTES, type Tools, toolsOf } from './tools.js';

const MCP_HEADERS = ['Mcp-Protocol-Version', 'Mcp-Session-Id', 'Mcp-Method', 'Mcp-Name', 'Last-Event-ID'];

export default definePlugin({
  name: 'mcp',
  version,
  description: 'The endpoints as read-only tools for AI assistants (Model Context Protocol).',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      path: {
        type: 'string',
        description: 'Path of the MCP endpoint.',
        pattern: '^(/[A-Za-z0-9._~-]+)+$',
        examples: ['/mcp'],
        default: '/mcp',
      },
      maxAnswerBytes: {
        type: 'integer',
        description:
          'Maximum size of a result, in bytes. If a result is larger, the tool returns an error that asks for a narrower call.',
        minimum: 100,
        default: MAX_ANSWER_BYTES,
      },
      allowedOrigins: {
        type: 'array',
        description:
          'Origins of web pages that may call the tools, in addition to pages on this machine. Programs send no Origin header and are always allowed.',
        items: { type: 'string', pattern: '^[a-z][a-z0-9+.-]*://[^/\\s]+$', examples: ['https://assistant.example'] },
        default: [],
      },
      allowedHosts: {
        type: ['array', 'null'],
        description: 'Host names under which the tools are available, without ports. Null allows any host name.',
        items: { type: 'string', pattern: '^[^/\\sA-Z]+$', examples: ['api.example.com'] },
        minItems: 1,
        default: null,
      },
    },
  },
  routes: () => [],
  mounts({ path, maxAnswerBytes, ...browsers }) {
    let tools: Tools | undefined;
    return [
      {
        path,
        summary: 'Tools for AI assistants (Model Context Protocol, streamable HTTP)',
        methods: ['POST'],
        key: true,
        requestHeaders: MCP_HEADERS,
        async handler(ctx, mount) {
          if (ctx.path !== path) throw new ApiError(errors.route_not_found);
          checkBrowser(ctx, browsers);
          tools ??= toolsOf(mount.routes, maxAnswerBytes);
          await respond(ctx, tools, mount);
        },
      },
    ];
  },
});
