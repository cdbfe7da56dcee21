/** Adds the headers that every response has: request id, security, CORS. */
import type { CommonHeaders } from '../http/headers.js';
import type { ServiceMiddleware } from '../http/request-state.js';
import { addLines } from '../http/service-koa.js';

export const addCommonHeaders =
  ({ headers }: { readonly headers: CommonHeaders }): ServiceMiddleware =>
  (ctx, next) => {
    addLines(ctx.res, headers.always(ctx.state.id, ctx.req.headers.origin));
    return next();
  };
