/** Adds the headers that every response has: request id, security, CORS. */
import type { CommonHeaders } from '../response/headers.js';
import { addLines } from '../response/writer.js';
import type { ServiceMiddleware } from './state.js';

export const addCommonHeaders =
  (headers: CommonHeaders): ServiceMiddleware =>
  (ctx, next) => {
    addLines(ctx.res, headers.always(ctx.state.id, ctx.req.headers.origin));
    return next();
  };
