/** The streamable HTTP transport within Koa: one POST is one exchange, and nothing outlives it. */
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { MountContext } from '../../core/contracts/plugin.js';
import { createMcpHandler } from './sdk.js';
import { mcpServer } from './server.js';
import type { Tools } from './tools.js';

/** A call is a name and a few arguments. */
const MAX_BODY_BYTES = 64 * 1024;

/** What the transport reads. The caller's key, which has been checked by then, is none of it. */
const PASSED_ON = /^(accept|content-type|content-length|mcp-.+)$/;

/** Node's to say: the caller may have asked to close. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['content-length', 'connection']);

/**
 * Answers one request through Koa's context.
 * @param mount asks the requests that the tools are
 */
export const answer = async (ctx: Context, tools: Tools, mount: MountContext): Promise<void> => {
  const handler = createMcpHandler(() => mcpServer(tools, mount), {
    maxRequestBodySize: MAX_BODY_BYTES,
    // The tools never change while the service runs: there is nothing to be told of.
    maxSubscriptions: 0,
  });
  const headers = Object.entries(ctx.req.headersDistinct).flatMap(([name, values = []]) =>
    PASSED_ON.test(name) ? values.map((value): [string, string] => [name, value]) : [],
  );
  const response = await handler.fetch(
    new Request(`http://localhost${ctx.path}`, {
      method: ctx.method,
      headers,
      body: Readable.toWeb(ctx.req) as ReadableStream,
      duplex: 'half',
    }),
  );
  // Every answer ends by itself, also one that is sent as a stream of events.
  const body = Buffer.from(await response.arrayBuffer());
  ctx.status = response.status;
  if (body.length > 0) ctx.body = body;
  for (const [name, value] of response.headers) if (!OF_THE_CONNECTION.has(name)) ctx.set(name, value);
};
