/**
 * Sets the response headers, and writes prepared bodies. Middleware that reads `ctx.body` sees an ordinary body: an
 * object for JSON, otherwise text or bytes. Only prepared bodies are compressed or replaced with a 304. Koa writes all
 * other bodies.
 */
import Koa, { type Context, type Middleware } from 'koa';
import type { CommonHeaders } from './headers.js';
import { contentOf, type KoaResponse, replace, wasChanged } from './prepared-body.js';
import { chooseEncoding, type Encoded, identityOf, Prepared, Representation } from './representation.js';
import { addLines, FastResponse, send, setHead } from './writer.js';

interface HasId {
  readonly requestState: { readonly id: string; readonly caller?: { readonly id: string } | undefined };
}

export const isPrepared = (response: Koa.Response): boolean => (response as KoaResponse).prepared !== undefined;

export const sendNow = ({ res, response }: Context, { connectionLines }: CommonHeaders): void =>
  send(res, identityOf((response as KoaResponse).prepared!), connectionLines);

export const respond = ({
  compression,
  headers: { always, connectionLines },
}: {
  readonly compression: boolean;
  readonly headers: CommonHeaders;
}): Middleware<Record<never, never>, HasId> => {
  const sendPrepared = ({ res, requestState: state }: Context, prepared: Prepared): void =>
    send(res, prepared, connectionLines, state['caller']?.id);

  const sendEncoded = (ctx: Context, representation: Representation, encoded: Encoded): void => {
    const { req, res } = ctx;
    const { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince } = req.headers;
    const prepared = representation.isFresh(ifNoneMatch, ifModifiedSince) ? encoded.notModified : encoded;
    if (!isUntouched(res)) describe(res, encoded, prepared);
    sendPrepared(ctx, prepared);
  };

  const sendRepresentation = (ctx: Context, representation: Representation): void | Promise<void> => {
    if (!isNegotiable(ctx, representation)) return sendPrepared(ctx, representation.identity);
    const accepted = ctx.req.headers['accept-encoding'] as string | undefined;
    const encoded = representation.encoding(compression ? chooseEncoding(accepted) : 'identity');
    return encoded instanceof Promise
      ? encoded.then((settled) => sendEncoded(ctx, representation, settled))
      : sendEncoded(ctx, representation, encoded);
  };

  const write = (ctx: Context): void | Promise<void> => {
    if (ctx.respond === false || ctx.res.writableEnded) return;
    const response: KoaResponse = ctx.response;
    if (response.shown !== undefined && wasChanged(response)) ctx.body = response.shown;
    const { prepared, source } = response;
    if (prepared && ctx.res.headersSent) return sendPrepared(ctx, identityOf(prepared));
    if (prepared instanceof Representation) return sendRepresentation(ctx, prepared);
    if (prepared) return sendPrepared(ctx, prepared);
    if (source?.isFresh(ctx.req.headers['if-none-match'], undefined)) leaveUnmodified(ctx);
    return respondByKoa(ctx);
  };

  return (ctx, next) => {
    addLines(ctx.res, always(ctx.requestState.id, ctx.req.headers.origin));
    return next().then(() => write(ctx as Context));
  };
};

const isUntouched = (res: Context['res']): boolean => res instanceof FastResponse && !res.isOrdinary;

/** If middleware has changed the status, the ETag or the encoding, the response is sent unchanged. */
const isNegotiable = ({ res }: Context, { identity }: Representation): boolean =>
  res.statusCode === identity.status &&
  (isUntouched(res) || (res.getHeader('ETag') === identity.etag && !res.hasHeader('Content-Encoding')));

const describe = (res: Context['res'], { etag, encoding, size }: Encoded, { status }: Prepared): void => {
  res.statusCode = status;
  res.setHeader('ETag', etag);
  if (status === 304) {
    res.removeHeader('Content-Type');
    res.removeHeader('Content-Length');
  } else if (encoding !== 'identity') {
    res.setHeader('Content-Encoding', encoding);
    res.setHeader('Content-Length', size);
  }
};

const leaveUnmodified = (ctx: Context): void => {
  ctx.status = 304;
  ctx.body = null;
  ctx.remove('Content-Encoding');
};

type HandleRequest = (ctx: Context, run: () => Promise<void>) => Promise<void>;

const respondByKoa = (ctx: Context): Promise<void> => {
  const { statusCode } = ctx.res;
  // Koa does not export its `respond` function, but `handleRequest` calls it. `handleRequest` first sets the status to
  // 404, so the original status is restored.
  const { handleRequest } = Koa.prototype as unknown as { handleRequest: HandleRequest };
  return handleRequest.call(ctx.app, ctx, async () => {
    ctx.res.statusCode = statusCode;
  });
};

type Body = PropertyDescriptor & Required<Pick<PropertyDescriptor, 'get' | 'set'>>;

export const acceptPrepared = (prototype: Koa.BaseResponse): void => {
  const inherited = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(prototype), 'body') as Body;
  Object.defineProperty(prototype, 'body', {
    configurable: true,
    get(this: KoaResponse): unknown {
      if (this.prepared === undefined) return inherited.get.call(this);
      this.shown ??= contentOf(this, identityOf(this.prepared));
      return this.shown;
    },
    set(this: KoaResponse, body: unknown): void {
      if (body instanceof Prepared || body instanceof Representation) prepare(this, body);
      else {
        if (this.prepared !== undefined) replace(this, this.prepared, body);
        if (this.prepared === undefined) inherited.set.call(this, body);
      }
    },
  });
};

const prepare = (response: KoaResponse, body: Prepared | Representation): void => {
  const { res } = response;
  const { status, head } = identityOf(body);
  response.prepared = body;
  if (response.shown !== undefined) response.shown = undefined;
  if (response.source !== undefined) response.source = undefined;
  if (!res.headersSent) res.statusCode = status;
  setHead(res, head);
};
