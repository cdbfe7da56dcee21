/** The endpoints as tools for AI assistants, at `/mcp`: Model Context Protocol, with the API's keys and limits. */
import { definePlugin } from '../../core/contracts/plugin.js';
import { ApiError, errors } from '../../core/errors.js';
import { packageVersion } from '../../core/package-root.js';
import { answer } from './http.js';
import { MAX_ANSWER_BYTES, type Tools, toolsOf } from './tools.js';

interface McpOptions {
  readonly path: string;
  readonly maxAnswerBytes: number;
}

export default definePlugin<McpOptions>({
  name: 'mcp',
  version: packageVersion,
  description: 'The endpoints as read-only tools for AI assistants (Model Context Protocol).',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      path: {
        type: 'string',
        description: 'Where it answers, from the origin.',
        pattern: '^(/[A-Za-z0-9._~-]+)+$',
        examples: ['/mcp'],
        default: '/mcp',
      },
      maxAnswerBytes: {
        type: 'integer',
        description: 'Longest answer of a tool; longer ones become errors that ask for a narrower call.',
        minimum: 100,
        default: MAX_ANSWER_BYTES,
      },
    },
  },
  routes: () => [],
  mounts({ path, maxAnswerBytes }) {
    let tools: Tools | undefined;
    return [
      {
        path,
        summary: 'Tools for AI assistants (Model Context Protocol, streamable HTTP)',
        methods: ['POST'],
        key: true,
        async handler(ctx, mount) {
          if (ctx.path !== path) throw new ApiError(errors.route_not_found);
          tools ??= toolsOf(mount.routes, maxAnswerBytes);
          await answer(ctx, tools, mount);
        },
      },
    ];
  },
});
