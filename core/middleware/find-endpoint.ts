/** Finds the endpoint of the URL and parses its input. A fault is kept for `check-request.ts`: limit and key come first. */
import type { ServiceMiddleware } from '../http/request-state.js';
import type { RouteTable } from '../http/route-table.js';

export interface FindEndpointDependencies {
  readonly routes: RouteTable;
}

export const findEndpoint =
  ({ routes }: FindEndpointDependencies): ServiceMiddleware =>
  (ctx, next) => {
    ctx.state.match = routes.resolve(ctx.req.url ?? '/');
    return next();
  };
