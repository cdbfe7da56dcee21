/** The streamable HTTP transport within Koa: one POST is one message and one response, and nothing outlives it. */
import type { Context } from 'koa';
import type { MountContext } from '../../core/contracts/plugin.js';
import { createMcpHandler, ProtocolErrorCode } from './sdk.js';
import { mcpServer } from './server.js';
import type { Tools } from './tools.js';

/** What the transport reads. The caller's key, which has been checked by then, is none of it. */
const PASSED_ON = /^(accept|content-type|content-length|mcp-.+)$/;

/** Node's to say: the caller may have asked to close. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['content-length', 'connection']);

/**
 * Responds to one request through Koa's context.
 * @param mount makes the requests of the tools
 */
export const respond = async (ctx: Context, tools: Tools, mount: MountContext): Promise<void> => {
  const message = await readMessage(ctx);
  const fault = messageFault(message);
  if (fault) {
    ctx.status = 400;
    ctx.body = { jsonrpc: '2.0', id: null, error: { code: ProtocolErrorCode.InvalidRequest, message: fault } };
    return;
  }
  const handler = createMcpHandler(() => mcpServer(tools, mount), {
    // The tools never change while the service runs, so clients need no subscriptions.
    maxSubscriptions: 0,
  });
  const headers = Object.entries(ctx.req.headersDistinct).flatMap(([name, values = []]) =>
    PASSED_ON.test(name) ? values.map((value): [string, string] => [name, value]) : [],
  );
  const response = await handler.fetch(
    new Request(`http://localhost${ctx.path}`, {
      method: ctx.method,
      headers,
      body: message,
    }),
  );
  // Every response ends by itself, also a stream of events.
  const body = Buffer.from(await response.arrayBuffer());
  ctx.status = response.status;
  if (body.length > 0) ctx.body = body;
  for (const [name, value] of response.headers) if (!OF_THE_CONNECTION.has(name)) ctx.set(name, value);
};

/** Enough for a call, which is a name and a few arguments. */
const MAX_BODY_BYTES = 64 * 1024;
/** Arguments of tools are plain values, so that a call has three levels. */
const MAX_DEPTH = 32;

const BATCH =
  'Batches are not taken: send each message in a POST of its own, which counts as one request. The protocol has none since 2025-06-18.';
const TOO_DEEP = `The message nests more than ${MAX_DEPTH} levels of arrays and objects.`;

/** @throws an http-error 413 for a body that is too large */
const readMessage = async (ctx: Context): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) ctx.throw(413, `A message has ${MAX_BODY_BYTES} bytes at most.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

/**
 * What is wrong with a message: a batch would be many requests that count as one, and deep nesting exhausts the stack.
 */
const messageFault = (text: string): string | undefined => {
  if (/^\s*\[/.test(text)) return BATCH;
  return isTooDeep(text) ? TOO_DEEP : undefined;
};

const isTooDeep = (text: string): boolean => {
  let depth = 0;
  // A string is one token, also one without an end, so that the search takes linear time. The SDK refuses invalid JSON.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|[[{]|[\]}]/g)) {
    if (token === '[' || token === '{') depth++;
    else if (token === ']' || token === '}') depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
};

export interface BrowserOptions {
  /** Origins of pages that may call, as browsers send them. */
  readonly allowedOrigins: readonly string[];
  /** Names that the service may be called by, without port; null: any. */
  readonly allowedHosts: readonly string[] | null;
}

/** Pages of this machine, such as the MCP inspector's. */
const LOCAL = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

const withoutPort = (host: string): string => host.replace(/:\d*$/, '').toLowerCase();

/**
 * Refuses web pages of other sites, and pages whose name was made to resolve to this machine (DNS rebinding).
 * @throws an http-error 403, as the protocol has it
 */
export const checkBrowser = (ctx: Context, { allowedOrigins, allowedHosts }: BrowserOptions): void => {
  const { origin, host = '' } = ctx.req.headers;
  // Only browsers send an Origin, with every POST.
  if (origin !== undefined && !LOCAL.test(origin) && !allowedOrigins.includes(origin)) {
    ctx.throw(403, 'Pages of this origin may not call the tools. The operator can allow it by "allowedOrigins".');
  }
  if (allowedHosts && !allowedHosts.includes(withoutPort(host))) {
    ctx.throw(403, 'The tools are not served under this host name. The operator can allow it by "allowedHosts".');
  }
};
