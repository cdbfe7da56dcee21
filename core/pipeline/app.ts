/**
 * The middleware that every request passes through. It runs from top to bottom; code after an `await next()` runs from
 * bottom to top.
 *
 * `catchErrors` turns a thrown error into a response, so the middleware above it sees errors as responses. The limit is
 * checked first, then the key, then the request itself, so that every request is counted.
 */
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { Tiers } from '../config/tiers.js';
import type { Limiter } from '../contracts/limiter.js';
import type { Authenticator } from '../keys/authenticator.js';
import type { IdentityChain } from '../keys/identity-chain.js';
import { respond } from '../response/respond.js';
import { authorize } from './authorize.js';
import { catchErrors } from './catch-errors.js';
import { checkRequest, findEndpoint, handle } from './endpoint.js';
import { identify } from './identify.js';
import { limit } from './limit.js';
import { observe } from './observe.js';
import { type ServiceContext, ServiceKoa, type ServiceKoaOptions, type ServiceMiddleware } from './service-koa.js';

interface KoaDependencies extends ServiceKoaOptions {
  readonly routes: { readonly find: ServiceMiddleware };
  readonly keys: Authenticator;
  readonly identities: IdentityChain | null;
  readonly limiter: Limiter;
  readonly addressOf: (request: IncomingMessage) => string;
  readonly settings: { readonly tiers: Tiers };
  readonly observers: readonly ((ctx: ServiceContext) => void)[];
  /** Middleware from plugins that runs around every request. A plugin's `middleware` wraps only its own endpoints. */
  readonly serviceMiddleware: readonly Middleware[];
  readonly realm: string;
  readonly compression: boolean;
}

export const createKoa = (deps: KoaDependencies): ServiceKoa => {
  const { logger, headers, observers, serviceMiddleware, realm } = deps;
  const app = new ServiceKoa(deps);

  app.use(observe(observers)); // reports the response to the log, the metrics and plugins
  app.use(respond(deps)); // sets the request id, security and CORS headers, and later writes the response or a 304
  app.use(app.around(catchErrors(logger), serviceMiddleware)); // runs the plugins' middleware for all requests
  app.use(catchErrors(logger)); // turns errors into responses, which keep the headers set above
  app.use(findEndpoint(deps)); // finds the route or mount, its parameters and the response format
  app.use(identify(deps)); // identifies the caller by key, by plugin, or by address
  app.use(limit(deps)); // counts the request; responds with 429 if the caller is over its limit
  app.use(authorize(realm)); // responds with 401 or 403 if the endpoint needs a key that the caller lacks
  app.use(checkRequest(headers)); // responds with 400, 404, 405, 406 or 414 to invalid requests
  app.use(handle); // runs the middleware of the endpoint's plugin, then the route or mount

  return app.complete(); // from here on, `app.use` adds middleware after `serviceMiddleware`
};
