/** The first and the last middleware of an endpoint: `findEndpoint` matches the URL, `handle` runs what it found. */
import type { Match, ServiceMiddleware } from './state.js';

/** Matches the URL and parses its input. `checkRequest` reports a faulty URL, after the limit and the key are checked. */
export const findEndpoint =
  (routes: { resolve(url: string): Match }): ServiceMiddleware =>
  (ctx, next) => {
    ctx.state.match = routes.resolve(ctx.req.url ?? '/');
    return next();
  };

/** Runs the middleware of the endpoint's plugin, then the route or mount. */
export const handle: ServiceMiddleware = (ctx, next) => ctx.state.match!.endpoint!.handle(ctx, next);
