/** MCP's streamable HTTP transport for Koa. Each POST contains one message and gets one response. No state is kept. */
import { createMcpHandler, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Context } from 'koa';
import { excerpt, type MountContext } from 'metro-forecast-api/plugin';
import { mcpServer } from './server.js';
import type { Tools } from './tools.js';

/**
 * Request headers that are passed on to the SDK. `Authorization` is omitted, since the key has already been checked.
 */
const PASSED_ON = /^(accept|content-type|content-length|mcp-.+)$/;

/**
 * Response headers from the SDK that are not copied. Node sets them, because they depend on whether the connection
 * stays open.
 */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['content-length', 'connection']);

/**
 * Responds to one request through Koa's context.
 * @param mount makes the requests for the tools
 */
export const respond = async (ctx: Context, tools: Tools, mount: MountContext): Promise<void> => {
  const { message, error } = await readMessage(ctx);
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
  // Every response ends on its own, including event streams.
  const body = withShortErrors(await response.text());
  ctx.status = response.status;
  if (body !== '') ctx.body = body;
  for (const [name, value] of response.headers) if (!OF_THE_CONNECTION.has(name)) ctx.set(name, value);
};

/** The maximum size of a body, which is enough for a call with a name and a few arguments. */
const MAX_BODY_BYTES = 64 * 1024;
/** The maximum nesting depth. The arguments of tools are plain values, so a valid call has only three levels. */
const MAX_DEPTH = 32;
/**
 * The maximum number of values in a message, which is more than the number of arguments of any tool. The SDK validates
 * every value, and validating an invalid one takes a thousand times as long as parsing it.
 */
const MAX_VALUES = 250;
/** The maximum length of a message id, which every response repeats. */
const MAX_ID_LENGTH = 128;

const BATCH =
  'Batches are not supported: send each message in its own POST, which counts as one request. The protocol has no batches since 2025-06-18.';
const TOO_DEEP = `The message nests more than ${MAX_DEPTH} levels of arrays and objects.`;
const TOO_MANY = `The message has more than ${MAX_VALUES} values in its arrays and objects.`;
const LONG_ID = `The id of the message has more than ${MAX_ID_LENGTH} characters.`;

/** Reads the message in a request. A program that embeds the service may have parsed the body. */
const readMessage = async (ctx: Context): Promise<ReturnType<typeof parsed>> => {
  const { body } = ctx.req as { readonly body?: unknown };
  if (body === undefined || !ctx.req.readableEnded) return parsed(await readBody(ctx));
  return typeof body === 'string' || Buffer.isBuffer(body) ? parsed(String(body)) : checked(body);
};

/** @throws an http-error with status 413 if the body is too large */
const readBody = async (ctx: Context): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  // With a plain `for await`, throwing the 413 inside the loop would destroy the request and its socket, which the
  // response and the log still need.
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      // The rest of the body stays unread. On a kept connection, it would be parsed as the next request.
      ctx.res.shouldKeepAlive = false;
      ctx.throw(413, `A message can have at most ${MAX_BODY_BYTES} bytes.`);
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

/** Parses a body. Returns its message, or an error if the SDK must not process the message. */
const parsed = (body: string): { readonly message?: unknown; readonly error?: RpcError } => {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    return { error: { code: ProtocolErrorCode.ParseError, message: 'The message is not valid JSON.' } };
  }
  return checked(message);
};

const checked = (message: unknown): ReturnType<typeof parsed> => {
  const error = messageError(message);
  return error === undefined ? { message } : { error: { code: ProtocolErrorCode.InvalidRequest, message: error } };
};

/**
 * Returns why a message is rejected, or undefined if it is accepted. A batch would be many requests that count as one,
 * deep nesting could exhaust the stack, and many values would take long to validate.
 */
const messageError = (message: unknown): string | undefined => {
  if (Array.isArray(message)) return BATCH;
  if (typeof message !== 'object' || message === null) return undefined;
  const { id } = message as { readonly id?: unknown };
  if (typeof id === 'string' && id.length > MAX_ID_LENGTH) return LONG_ID;
  let values = 0;
  // Goes through the message one level at a time, so that the search stops early if the message is too wide or too
  // deep.
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
 * The maximum length of an error's message and data, in characters. The SDK's errors would repeat every invalid value.
 */
const LONGEST_ERROR = 500;

/** @param body the body of the SDK's response: JSON, or events with one line of JSON each */
const withShortErrors = (body: string): string =>
  body.replace(
    /^((?:data: )?)(\{(?!"result":).*\})$/gm,
    (_, before: string, json: string) => before + shortError(json),
  );

/** Shortens an error message and removes long data. Responses without an error are returned unchanged. */
const shortError = (json: string): string => {
  const { id, error } = JSON.parse(json) as { readonly id: unknown; readonly error?: RpcError };
  if (error === undefined) return json;
  const { code, message } = error;
  const data = excerpt(JSON.stringify(error.data ?? null), Number.POSITIVE_INFINITY);
  const more = error.data === undefined || data.length > LONGEST_ERROR ? {} : { data: JSON.parse(data) as unknown };
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: excerpt(message, LONGEST_ERROR), ...more } });
};

export interface BrowserOptions {
  /** The origins of web pages that may call the tools, in the form in which browsers send them. */
  readonly allowedOrigins: readonly string[];
  /** The allowed host names without ports, or null if any host name is allowed. */
  readonly allowedHosts: readonly string[] | null;
}

/** Matches the origins of pages on this machine, such as the MCP inspector. */
const LOCAL = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

const withoutPort = (host: string): string => host.replace(/:\d*$/, '').toLowerCase();

/**
 * Rejects requests from web pages of other sites, and from pages whose host name resolves to this machine (DNS
 * rebinding).
 * @throws an http-error with status 403, as the protocol requires
 */
export const checkBrowser = (ctx: Context, { allowedOrigins, allowedHosts }: BrowserOptions): void => {
  const { origin, host = '' } = ctx.req.headers;
  // Only browsers send an Origin header, and they send it with every POST.
  if (origin !== undefined && !LOCAL.test(origin) && !allowedOrigins.includes(origin)) {
    ctx.throw(403, 'Web pages of this origin cannot call the tools. The operator can allow it with "allowedOrigins".');
  }
  if (allowedHosts && !allowedHosts.includes(withoutPort(host))) {
    ctx.throw(403, 'The tools are not available under this host name. The operator can allow it with "allowedHosts".');
  }
};
