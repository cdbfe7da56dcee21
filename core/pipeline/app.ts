/**
 * The middleware of every request. They run from top to bottom; what follows their `next()` runs from bottom to top.
 *
 * `catchErrors` turns a thrown error into a response, so the middleware above it see errors as responses. The limit comes
 * first, then the key, then errors in the request, so that every request is counted.
 */
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { Tiers } from '../config/tiers.js';
import type { Limiter } from '../contracts/limiter.js';
import type { Authenticator } from '../keys/authenticator.js';
import { respond } from '../response/respond.js';
import { authorize } from './authorize.js';
import { catchErrors } from './catch-errors.js';
import { checkRequest, findEndpoint, handle } from './endpoint.js';
import { identify } from './identify.js';
import { limit } from './limit.js';
import { observe } from './observe.js';
import type { ServiceContext, ServiceMiddleware } from './service-koa.js';
import { ServiceKoa, type ServiceKoaOptions } from './service-koa.js';

interface KoaDependencies extends ServiceKoaOptions {
  readonly routes: { readonly find: ServiceMiddleware };
  readonly keys: Authenticator;
  readonly limiter: Limiter;
  readonly addressOf: (request: IncomingMessage) => string;
  readonly settings: { readonly tiers: Tiers };
  readonly observers: readonly ((ctx: ServiceContext) => void)[];
  /** Middleware that plugins run around every request. A plugin's `middleware` runs for its own endpoints only. */
  readonly serviceMiddleware: readonly Middleware[];
  readonly realm: string;
  readonly compression: boolean;
}

export const createKoa = (deps: KoaDependencies): ServiceKoa => {
  const { logger, headers, observers, serviceMiddleware, realm } = deps;
  const app = new ServiceKoa(deps);

  app.use(observe(observers)); // reports the response to the log, the metrics and plugins
  app.use(respond(deps)); // sets request id, security and CORS headers; at last writes the response, or a 304
  app.use(app.around(catchErrors(logger), serviceMiddleware)); // middleware of plugins around every request
  app.use(catchErrors(logger)); // makes errors responses, which keep the headers set above
  app.use(findEndpoint(deps)); // the route or mount of the URL, its parameters and the format
  app.use(identify(deps)); // the caller: the owner of a valid key, otherwise the client's address
  app.use(limit(deps)); // counts the request; 429 past the caller's limit
  app.use(authorize(realm)); // 401 or 403, if the endpoint needs a key
  app.use(checkRequest(headers)); // 400, 404, 405, 406 or 414
  app.use(handle); // the middleware of the endpoint's plugin, then the route or mount

  return app.complete(); // from now on `app.use` adds middleware behind `serviceMiddleware`
};
