/**
 * Turns what the middleware below throw, and an error status without a body, into the one error body. Headers that are
 * not about the failed body stay.
 */
import type { ServerResponse } from 'node:http';
import type { Logger } from '../contracts/runtime.js';
import { errorResponse, statusResponse } from '../http/error-response.js';
import type { PreparedBody } from '../http/koa-response.js';
import { PreparedResponse } from '../http/prepared-response.js';
import type { ServiceContext, ServiceMiddleware } from '../http/request-state.js';

export const errors =
  ({ logger }: { readonly logger: Logger }): ServiceMiddleware =>
  async (ctx, next) => {
    try {
      await next();
      if (lacksErrorBody(ctx)) ctx.body = statusResponse(ctx.status, logger, ctx.state.id);
    } catch (error) {
      setError(ctx, error, logger);
    }
  };

/** Also where nobody has answered, which is Koa's 404. */
const lacksErrorBody = ({ res, response, respond }: ServiceContext): boolean => {
  if (res.statusCode < 400 || (response as PreparedBody).prepared !== undefined) return false;
  const isExplicitNull = (response as { readonly _explicitNullBody?: boolean })._explicitNullBody === true;
  return response.body === undefined && !isExplicitNull && !res.headersSent && respond !== false;
};

/** What an error has thrown, as the response; once a response has begun, nothing is left but to cut it off. */
export const setError = (ctx: ServiceContext, error: unknown, logger: Logger): void => {
  const body = errorResponse(error, logger, ctx.state.id);
  if (ctx.res.headersSent) {
    ctx.res.destroy();
    return;
  }
  removeBodyHeaders(ctx.res);
  ctx.body = body;
};

const ABOUT_THE_BODY = [
  'Accept-Ranges',
  'Age',
  'Cache-Control',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Length',
  'Content-Range',
  'Content-Type',
  'ETag',
  'Expires',
  'Last-Modified',
  'Location',
  'Snapshot-Version',
  'Transfer-Encoding',
];

const removeBodyHeaders = (response: ServerResponse): void => {
  // Lines that nobody has looked at are replaced with the body.
  if (response instanceof PreparedResponse && !response.isOrdinary) return;
  for (const name of ABOUT_THE_BODY) response.removeHeader(name);
};
