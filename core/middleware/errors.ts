/**
 * Turns errors thrown by the middleware below, and an error status without a body, into the error body of the API.
 * Headers that are not about the failed body stay.
 */
import type { Logger } from '../contracts/runtime.js';
import { setError, statusResponse } from '../http/error-response.js';
import type { ServiceContext, ServiceMiddleware } from '../http/request-state.js';
import type { PreparedBody } from '../http/service-koa.js';

export const errors =
  ({ logger }: { readonly logger: Logger }): ServiceMiddleware =>
  async (ctx, next) => {
    try {
      await next();
      if (lacksErrorBody(ctx)) ctx.body = statusResponse(ctx.status, logger, ctx.state.id);
    } catch (error) {
      setError(ctx, error, logger);
      ctx.app.emit('error', error, ctx);
    }
  };

/** Also for Koa's own 404, when no middleware has responded. */
const lacksErrorBody = ({ res, response, respond }: ServiceContext): boolean => {
  if (res.statusCode < 400 || (response as PreparedBody).prepared !== undefined) return false;
  const isExplicitNull = (response as { readonly _explicitNullBody?: boolean })._explicitNullBody === true;
  return response.body === undefined && !isExplicitNull && !res.headersSent && respond !== false;
};
