/** Adds the headers that every response has: the request's id, security, and what pages of other origins may do. */
import type { CommonHeaders } from '../http/headers.js';
import { addLines } from '../http/koa-response.js';
import type { ServiceMiddleware } from '../http/request-state.js';

export const commonHeaders =
  ({ headers }: { readonly headers: CommonHeaders }): ServiceMiddleware =>
  (ctx, next) => {
    addLines(ctx.res, headers.always(ctx.state.id, ctx.req.headers.origin));
    return next();
  };
