/** Writes the response, as a 304 or compressed if the request allows it. */
import Koa from 'koa';
import type { CommonHeaders } from '../http/headers.js';
import { PreparedResponse, sendBody } from '../http/prepared-response.js';
import { chooseEncoding, type Encoded, type Prepared, Representation } from '../http/representation.js';
import type { ServiceContext, ServiceMiddleware } from '../http/request-state.js';
import { type PreparedBody, wasChanged } from '../http/service-koa.js';

export interface RespondDependencies {
  /** Whether the service compresses. */
  readonly compression: boolean;
  readonly headers: CommonHeaders;
}

type Response = ServiceContext['response'] & PreparedBody;

export const respond = ({ compression, headers }: RespondDependencies): ServiceMiddleware => {
  /** Sends prepared bytes, with the headers and the status that other middleware have changed. */
  const send = ({ res }: ServiceContext, prepared: Prepared): void => {
    const isUnchanged = res instanceof PreparedResponse && res.sendPrepared(prepared, headers.connectionLines);
    if (!isUnchanged) sendBody(res, prepared.payload);
  };

  const sendEncoded = (ctx: ServiceContext, representation: Representation, encoded: Encoded): void => {
    const { res } = ctx;
    const { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince } = ctx.req.headers;
    const prepared = representation.isFresh(ifNoneMatch, ifModifiedSince) ? encoded.notModified : encoded;
    if (!(res instanceof PreparedResponse) || res.isOrdinary) describe(ctx, encoded, prepared);
    send(ctx, prepared);
  };

  const sendRepresentation = (ctx: ServiceContext, representation: Representation): void | Promise<void> => {
    if (!isNegotiable(ctx, representation)) return send(ctx, representation.identity);
    const accepted = ctx.req.headers['accept-encoding'] as string | undefined;
    const encoded = representation.encoding(compression ? chooseEncoding(accepted) : 'identity');
    return encoded instanceof Promise
      ? encoded.then((settled) => sendEncoded(ctx, representation, settled))
      : sendEncoded(ctx, representation, encoded);
  };

  const write = (ctx: ServiceContext): void | Promise<void> => {
    // A mount's handler may have written to `ctx.res` itself.
    if (ctx.respond === false || ctx.res.headersSent) return;
    const response: Response = ctx.response;
    if (response.shown !== undefined && wasChanged(response)) ctx.body = response.shown;
    const { prepared, encoded } = response;
    if (prepared instanceof Representation) return sendRepresentation(ctx, prepared);
    if (prepared) return send(ctx, prepared);
    if (encoded?.isFresh(ctx.req.headers['if-none-match'], undefined)) leaveUnmodified(ctx);
    return respondByKoa(ctx);
  };

  return (ctx, next) => next().then(() => write(ctx));
};

/** Whether middleware have left the representation's status, validators and encoding as they were. */
const isNegotiable = ({ res }: ServiceContext, { identity }: Representation): boolean =>
  res.statusCode === identity.status &&
  ((res instanceof PreparedResponse && !res.isOrdinary) ||
    (res.getHeader('ETag') === identity.etag && !res.hasHeader('Content-Encoding')));

/** Changes the headers for the chosen encoding, or for a 304. */
const describe = ({ res }: ServiceContext, { etag, encoding, body }: Encoded, { status }: Prepared): void => {
  res.statusCode = status;
  res.setHeader('ETag', etag);
  if (status === 304) {
    res.removeHeader('Content-Type');
    res.removeHeader('Content-Length');
  } else if (encoding !== 'identity') {
    res.setHeader('Content-Encoding', encoding);
    res.setHeader('Content-Length', body.length);
  }
};

const leaveUnmodified = (ctx: ServiceContext): void => {
  ctx.status = 304;
  ctx.body = null;
  ctx.remove('Content-Encoding');
};

/** Bodies of every kind that Koa knows: texts, bytes, objects, streams. */
const respondByKoa = (ctx: ServiceContext): Promise<void> => {
  const { statusCode } = ctx.res;
  // Koa's own way to respond is private; running it behind one middleware is the way to call it.
  const { handleRequest } = Koa.prototype as unknown as { handleRequest: HandleRequest };
  return handleRequest.call(ctx.app, ctx, async () => {
    ctx.res.statusCode = statusCode;
  });
};

type HandleRequest = (ctx: ServiceContext, run: () => Promise<void>) => Promise<void>;
