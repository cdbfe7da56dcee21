/** Turns what the middleware below throw into error responses. */
import type { Logger } from '../contracts/runtime.js';
import { setError, statusResponse } from '../response/error-response.js';
import { isPrepared } from '../response/respond.js';
import type { ServiceContext, ServiceMiddleware } from './service-koa.js';

/**
 * Also gives an error status without a body the error body of the API. A thrown error removes the headers that describe
 * the replaced body; all others stay.
 */
export const catchErrors =
  (logger: Logger): ServiceMiddleware =>
  async (ctx, next) => {
    try {
      await next();
      if (lacksErrorBody(ctx)) ctx.body = statusResponse(ctx.status, logger, ctx.state.id);
    } catch (error) {
      setError(ctx, error, logger);
      ctx.app.emit('error', error, ctx);
    }
  };

/** Whether an error status has no body, which includes Koa's 404 when no middleware has responded. */
const lacksErrorBody = ({ res, response, respond }: ServiceContext): boolean => {
  if (res.statusCode < 400 || isPrepared(response)) return false;
  const isExplicitNull = (response as { readonly _explicitNullBody?: boolean })._explicitNullBody === true;
  return response.body === undefined && !isExplicitNull && !res.headersSent && respond !== false;
};
