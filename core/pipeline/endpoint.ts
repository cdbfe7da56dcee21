/** The first and the last middleware of an endpoint: `findEndpoint` matches the URL, `handle` runs what it found. */
import type { ServiceMiddleware } from './state.js';

/** Matches the URL and parses its input. `checkRequest` reports an error in it, after the limit and the key are checked. */
export const findEndpoint = ({ find }: { readonly find: ServiceMiddleware }): ServiceMiddleware => find;

/** Runs the middleware of the endpoint's plugin, then the route or mount. */
export const handle: ServiceMiddleware = (ctx, next) => ctx.state.match!.endpoint!.handle(ctx, next);
