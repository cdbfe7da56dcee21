/**
 * MCP's streamable HTTP transport within Koa: each POST has one message and gets one response, and no state remains.
 */
import type { Context } from 'koa';
import { excerpt, type MountContext } from 'metro-forecast-api/plugin';
import { createMcpHandler, ProtocolErrorCode } from './sdk.js';
import { mcpServer } from './server.js';
import type { Tools } from './tools.js';

/** Request headers passed on to the SDK; not Authorization, since the key has been checked already. */
const PASSED_ON = /^(accept|content-type|content-length|mcp-.+)$/;

/**
 * Response headers of the SDK that are not copied: Node sets them, since the caller may have asked to close the
 * connection.
 */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['content-length', 'connection']);

/**
 * Responds to one request through Koa's context.
 * @param mount makes the requests of the tools
 */
export const respond = async (ctx: Context, tools: Tools, mount: MountContext): Promise<void> => {
  const { message, error } = parsed(await readBody(ctx));
  if (error) {
    ctx.status = 400;
    ctx.body = { jsonrpc: '2.0', id: null, error };
    return;
  }
  const handler = createMcpHandler(() => mcpServer(tools, mount), {
    // The tools never change while the service runs, so clients need no subscriptions.
    maxSubscriptions: 0,
  });
  const headers = Object.entries(ctx.req.headersDistinct).flatMap(([name, values = []]) =>
    PASSED_ON.test(name) ? values.map((value): [string, string] => [name, value]) : [],
  );
  const response = await handler.fetch(new Request(`http://localhost${ctx.path}`, { method: ctx.method, headers }), {
    parsedBody: message,
  });
  // Every response ends by itself, also a stream of events.
  const body = withShortErrors(await response.text());
  ctx.status = response.status;
  if (body !== '') ctx.body = body;
  for (const [name, value] of response.headers) if (!OF_THE_CONNECTION.has(name)) ctx.set(name, value);
};

/** Enough for a call, which is a name and a few arguments. */
const MAX_BODY_BYTES = 64 * 1024;
/** Arguments of tools are plain values, so that a call has three levels. */
const MAX_DEPTH = 32;
/** No tool has as many arguments. The SDK validates every value, and a fault takes it a thousand times as long as parsing. */
const MAX_VALUES = 250;
/** Every response repeats the id. */
const MAX_ID_LENGTH = 128;

const BATCH =
  'Batches are not taken: send each message in a POST of its own, which counts as one request. The protocol has none since 2025-06-18.';
const TOO_DEEP = `The message nests more than ${MAX_DEPTH} levels of arrays and objects.`;
const TOO_MANY = `The message has more than ${MAX_VALUES} values in its arrays and objects.`;
const LONG_ID = `The id of the message has more than ${MAX_ID_LENGTH} characters.`;

/** @throws an http-error 413 for a body that is too large */
const readBody = async (ctx: Context): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  // An ordinary `for await` would destroy the request with its socket when the 413 leaves the loop; the response and
  // the log still need it.
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      // The rest of the body stays unread, and would be taken for the next request.
      ctx.res.shouldKeepAlive = false;
      ctx.throw(413, `A message has ${MAX_BODY_BYTES} bytes at most.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Parses a body: its message, or the error for a message that the SDK must not process. */
const parsed = (body: string): { readonly message?: unknown; readonly error?: RpcError } => {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    return { error: { code: ProtocolErrorCode.ParseError, message: 'The message is not valid JSON.' } };
  }
  const fault = messageFault(message);
  return fault === undefined ? { message } : { error: { code: ProtocolErrorCode.InvalidRequest, message: fault } };
};

/**
 * What is wrong with a message: a batch would be many requests that count as one, deep nesting exhausts the stack, many
 * values take long to validate.
 */
const messageFault = (message: unknown): string | undefined => {
  if (Array.isArray(message)) return BATCH;
  if (typeof message !== 'object' || message === null) return undefined;
  const { id } = message as { readonly id?: unknown };
  if (typeof id === 'string' && id.length > MAX_ID_LENGTH) return LONG_ID;
  let values = 0;
  // A level at a time, so that the search stops early however wide or deep the message is.
  let level: object[] = [message];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return TOO_DEEP;
    const next: object[] = [];
    for (const each of level) {
      for (const name in each) {
        if (++values > MAX_VALUES) return TOO_MANY;
        const value: unknown = each[name as keyof typeof each];
        if (typeof value === 'object' && value !== null) next.push(value);
      }
    }
    level = next;
  }
  return undefined;
};

/**
 * The longest text and data of an error, in characters: the SDK's errors name every fault and repeat the caller's
 * values.
 */
const LONGEST_ERROR = 500;

/** @param body of the SDK's response: JSON, or events with JSON, each in a line of its own */
const withShortErrors = (body: string): string =>
  body.replace(
    /^((?:data: )?)(\{(?!"result":).*\})$/gm,
    (_, before: string, json: string) => before + shortError(json),
  );

/** The message with a short sentence and no long data, if it is an error. */
const shortError = (json: string): string => {
  const { id, error } = JSON.parse(json) as { readonly id: unknown; readonly error?: RpcError };
  if (error === undefined) return json;
  const { code, message } = error;
  const data = excerpt(JSON.stringify(error.data ?? null), Number.POSITIVE_INFINITY);
  const more = error.data === undefined || data.length > LONGEST_ERROR ? {} : { data: JSON.parse(data) as unknown };
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: excerpt(message, LONGEST_ERROR), ...more } });
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
