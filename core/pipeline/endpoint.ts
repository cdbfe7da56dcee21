/** The first and the last middleware of an endpoint: `findEndpoint` matches the URL, `handle` runs what it found. */
import type { CommonHeaders } from '../response/headers.js';
import { requestError } from './check-request.js';
import type { ServiceMiddleware } from './state.js';

interface FindOptions {
  readonly routes: { readonly find: ServiceMiddleware };
  readonly headers: CommonHeaders;
}

/**
 * Matches the URL, parses its input and chooses the format. `checkRequest` reports an error of the request, after the
 * limit and the key are checked.
 */
export const findEndpoint =
  ({ routes: { find }, headers }: FindOptions): ServiceMiddleware =>
  (ctx, next) =>
    find(ctx, () => {
      const { req, state } = ctx;
      const match = state.match!;
      state.format = match.format ?? match.endpoint?.chooseFormat?.(req.headers.accept);
      state.error = requestError(req, match, state.format, headers);
      return next();
    });

/** Runs the middleware of the endpoint's plugin, then the route or mount. */
export const handle: ServiceMiddleware = (ctx, next) => ctx.state.match!.endpoint!.handle(ctx, next);
