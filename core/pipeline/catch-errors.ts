import type { Context } from 'koa';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, readTimeout } from '../errors.js';
import { errorResponse, setError, statusError } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { isPrepared, sendNow } from '../response/respond.js';
import type { ApiContext, ApiMiddleware } from './api-koa.js';
import { type ErrorPage, errorPagePolicy } from './error-page.js';

/** Turns errors into responses, and adds an error body to error responses without a body. */
export const catchErrors = (logger: Logger, errorPage: ErrorPage): ApiMiddleware => {
  const pageFor = (ctx: ApiContext) => {
    const page = errorPage(ctx.req);
    if (page && !ctx.res.headersSent) ctx.set('Content-Security-Policy', errorPagePolicy);
    return page;
  };
  return async (ctx, next) => {
    try {
      await next();
      if (lacksErrorBody(ctx))
        ctx.body = errorResponse(statusError(ctx.status), logger, ctx.requestState.id, pageFor(ctx));
    } catch (error) {
      ctx.requestState.isReadTimeout = error instanceof ApiError && error.kind === readTimeout;
      setError(ctx, error, logger, pageFor(ctx));
      emitError(ctx, error, logger);
    }
  };
};

/** Calls the listeners of the Koa application. If one of them throws, the client still gets the response. */
const emitError = (ctx: ApiContext, error: unknown, logger: Logger): void => {
  try {
    ctx.app.emit('error', error, ctx);
  } catch (err) {
    logger.error({ err, requestId: ctx.requestState.id }, 'a listener for errors failed');
  }
};

/** True if the response is an error without a body. If no middleware has responded, this is Koa's default 404. */
const lacksErrorBody = ({ res, response, respond }: ApiContext): boolean => {
  if (res.statusCode < 400 || isPrepared(response)) return false;
  const isExplicitNull = (response as { readonly _explicitNullBody?: boolean })._explicitNullBody === true;
  return response.body === undefined && !isExplicitNull && !res.headersSent && respond !== false;
};

/** Koa calls this for errors that occur after the middleware has run. */
export const failResponse = (ctx: ApiContext, error: unknown, logger: Logger, headers: CommonHeaders): void => {
  emitError(ctx, error, logger);
  if (ctx.headerSent || !ctx.writable) {
    logger.debug({ err: error, requestId: ctx.requestState.id }, 'a response ended early');
    ctx.res.destroy();
    return;
  }
  setError(ctx, error, logger);
  sendNow(ctx as unknown as Context, headers);
};
