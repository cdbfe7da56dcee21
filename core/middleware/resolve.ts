/** Finds what the URL stands for: an endpoint with its checked input, or the reason why there is none. */
import type { ServiceMiddleware } from '../http/request-state.js';
import type { RouteTable } from '../http/route-table.js';

export interface ResolveDependencies {
  readonly routes: RouteTable;
}

export const resolve =
  ({ routes }: ResolveDependencies): ServiceMiddleware =>
  (ctx, next) => {
    ctx.state.match = routes.resolve(ctx.req.url ?? '/');
    return next();
  };
