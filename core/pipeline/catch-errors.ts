/** Turns errors thrown by later middleware into error responses. */
import type { Logger } from '../contracts/runtime.js';
import { setError, statusResponse } from '../response/error-response.js';
import { isPrepared } from '../response/respond.js';
import type { ApiContext, ApiMiddleware } from './api-koa.js';

/**
 * If a response has an error status but no body, it also gets the error body of the API. If an error was thrown, the
 * headers that describe the replaced body are removed, and all other headers are kept.
 */
export const catchErrors =
  (logger: Logger): ApiMiddleware =>
  async (ctx, next) => {
    try {
      await next();
      if (lacksErrorBody(ctx)) ctx.body = statusResponse(ctx.status, logger, ctx.requestState.id);
    } catch (error) {
      setError(ctx, error, logger);
      ctx.app.emit('error', error, ctx);
    }
  };

/** Whether a response has an error status but no body. This includes Koa's default 404 if no middleware responded. */
const lacksErrorBody = ({ res, response, respond }: ApiContext): boolean => {
  if (res.statusCode < 400 || isPrepared(response)) return false;
  const isExplicitNull = (response as { readonly _explicitNullBody?: boolean })._explicitNullBody === true;
  return response.body === undefined && !isExplicitNull && !res.headersSent && respond !== false;
};
