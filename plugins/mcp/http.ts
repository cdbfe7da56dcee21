/** Implements the Streamable HTTP transport of MCP without sessions. Each POST contains one message. */
import { createMcpHandler, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Context } from 'koa';
import { excerpt, type MountContext } from 'metro-forecast-api/plugin';
import { mcpServer } from './server.js';
import type { Tools } from './tools.js';

/** The plugin has already checked the key, so the SDK does not get the `Authorization` header. */
const FORWARDED = /^(accept|content-type|content-length|mcp-.+)$/;

/** Node sets these response headers, so the SDK's values are dropped. */
const SET_BY_NODE: ReadonlySet<string> = new Set(['content-length', 'connection']);

export const respond = async (ctx: Context, tools: Tools, mount: MountContext): Promise<void> => {
  const { message, error } = await readMessage(ctx);
  if (error) {
    ctx.status = 400;
    ctx.body = { jsonrpc: '2.0', id: null, error };
    return;
  }
  const handler = createMcpHandler(() => mcpServer(tools, mount), {
    // The list of tools never changes, so clients have nothing to subscribe to.
    maxSubscriptions: 0,
  });
  const headers = Object.entries(ctx.req.headersDistinct).flatMap(([name, values = []]) =>
    FORWARDED.test(name) ? values.map((value): [string, string] => [name, value]) : [],
  );
  const response = await handler.fetch(new Request(`http://localhost${ctx.path}`, { method: ctx.method, headers }), {
    parsedBody: message,
  });
  // Without subscriptions, an event stream ends after the response, so `text()` resolves.
  const body = withShortErrors(await response.text());
  ctx.status = response.status;
  if (body !== '') ctx.body = body;
  for (const [name, value] of response.headers) if (!SET_BY_NODE.has(name)) ctx.set(name, value);
};

const MAX_BODY_BYTES = 64 * 1024;
/** Valid calls have only three levels, because arguments are scalars or flat objects. */
const MAX_DEPTH = 32;
/**
 * Maximum number of values in a message. Valid calls have fewer. The SDK takes about a thousand times longer to reject
 * an invalid value than to parse it.
 */
const MAX_VALUES = 250;
/** Every response repeats the id of its message, so the id may have at most 128 characters. */
const MAX_ID_LENGTH = 128;

const BATCH =
  'Batches are not supported: send each message in its own POST, which counts as one request. MCP 2025-06-18 removed batches from the protocol.';
const TOO_DEEP = `The message has more than ${MAX_DEPTH} nested levels of arrays and objects.`;
const TOO_MANY = `The message has more than ${MAX_VALUES} values in its arrays and objects.`;
const LONG_ID = `The message id is longer than ${MAX_ID_LENGTH} characters.`;

/** In an embedded service, earlier middleware might already have parsed the body. */
const readMessage = async (ctx: Context): Promise<ReturnType<typeof parsed>> => {
  const { body } = ctx.req as { readonly body?: unknown };
  if (body === undefined || !ctx.req.readableEnded) return parsed(await readBody(ctx));
  return typeof body === 'string' || Buffer.isBuffer(body) ? parsed(String(body)) : checked(body);
};

/** @throws an http-error with status 413 if the body is too large */
const readBody = async (ctx: Context): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  // A plain `for await` would destroy the socket before the 413 response is sent.
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      // The rest of the body is never read. On a connection that stays open, Node would parse the rest as a new
      // request.
      ctx.res.shouldKeepAlive = false;
      ctx.throw(413, `The message is larger than ${MAX_BODY_BYTES} bytes.`);
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
 * Returns the reason for rejecting a message. A batch would count as one request, deep nesting could overflow the
 * stack, and thousands of values would take too long to validate.
 */
const messageError = (message: unknown): string | undefined => {
  if (Array.isArray(message)) return BATCH;
  if (typeof message !== 'object' || message === null) return undefined;
  const { id } = message as { readonly id?: unknown };
  if (typeof id === 'string' && id.length > MAX_ID_LENGTH) return LONG_ID;
  let values = 0;
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

/** Maximum length of an error message in characters. The SDK quotes every invalid value. */
const LONGEST_ERROR = 500;

const withShortErrors = (body: string): string =>
  body.replace(
    /^((?:data: )?)(\{(?!"result":).*\})$/gm,
    (_, before: string, json: string) => before + shortError(json),
  );

const shortError = (json: string): string => {
  const { id, error } = JSON.parse(json) as { readonly id: unknown; readonly error?: RpcError };
  if (error === undefined) return json;
  const { code, message } = error;
  const data = excerpt(JSON.stringify(error.data ?? null), Number.POSITIVE_INFINITY);
  const more = error.data === undefined || data.length > LONGEST_ERROR ? {} : { data: JSON.parse(data) as unknown };
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: excerpt(message, LONGEST_ERROR), ...more } });
};

interface BrowserOptions {
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[] | null;
}

/** Pages on the same machine, such as the MCP inspector, may call the service. */
const LOCAL = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

const withoutPort = (host: string): string => host.replace(/:\d*$/, '').toLowerCase();

/**
 * Rejects requests from web pages on other sites. The check of the `Host` header prevents DNS rebinding.
 * @throws an http-error with status 403, as MCP requires
 */
export const checkBrowser = (ctx: Context, { allowedOrigins, allowedHosts }: BrowserOptions): void => {
  const { origin, host = '' } = ctx.req.headers;
  // Browsers send an Origin header with every POST. Most other clients send none.
  if (origin !== undefined && !LOCAL.test(origin) && !allowedOrigins.includes(origin)) {
    ctx.throw(
      403,
      'Web pages from this origin cannot call the tools. The operator can allow the origin with "allowedOrigins".',
    );
  }
  if (allowedHosts && !allowedHosts.includes(withoutPort(host))) {
    ctx.throw(
      403,
      'The tools are not available under this host name. The operator can allow the name with "allowedHosts".',
    );
  }
};
