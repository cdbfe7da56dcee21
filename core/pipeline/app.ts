/**
 * Lists the middleware in order. Code after `await next()` runs from bottom to top. `limit` comes before `authorize`
 * and `checkRequest`, so that requests with a wrong key or an invalid URL also count.
 */
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { Tiers } from '../config/tiers.js';
import type { Limiter } from '../contracts/limiter.js';
import type { Authenticator } from '../keys/authenticator.js';
import type { IdentityChain } from '../keys/identity-chain.js';
import { respond } from '../response/respond.js';
import { type ApiContext, ApiKoa, type ApiKoaOptions, type ApiMiddleware } from './api-koa.js';
import { authorize } from './authorize.js';
import { catchErrors } from './catch-errors.js';
import { checkRequest, handle, negotiate } from './endpoint.js';
import { type ErrorPageOptions, errorPage } from './error-page.js';
import { identify } from './identify.js';
import { limit } from './limit.js';
import { observe } from './observe.js';

interface KoaDependencies extends ApiKoaOptions, ErrorPageOptions {
  readonly routes: { readonly find: ApiMiddleware };
  readonly keys: Authenticator;
  readonly identities: IdentityChain | null;
  readonly limiter: Limiter;
  readonly addressOf: (request: IncomingMessage) => string;
  readonly settings: { readonly tiers: Tiers };
  readonly measure: ((ctx: ApiContext) => void) | undefined;
  readonly observers: readonly ((ctx: ApiContext) => void)[];
  /** Plugin middleware that wraps every request, unlike `middleware`, which wraps only the endpoints of its plugin. */
  readonly serviceMiddleware: readonly Middleware[];
  readonly realm: string;
  readonly compression: boolean;
}

export const createKoa = (deps: KoaDependencies): ApiKoa => {
  const { logger, headers, measure, observers, serviceMiddleware, routes, realm, identities } = deps;
  const page = errorPage(deps);
  const catching = catchErrors(logger, page);
  return new ApiKoa(deps, (added) => [
    observe(measure, observers), // reports the response to the metrics, the log and the plugins
    respond(deps), // sets the request id, security headers and CORS headers, then writes the response or a 304
    ...guarded(catching, [...serviceMiddleware, ...added]), // middleware of plugins and of the embedding program
    catching, // turns errors into responses, and keeps the headers that `respond` has set
    routes.find, // finds the route or mount, and parses the parameters
    negotiate, // chooses the response format, and stores errors in the request for `checkRequest`
    identify(deps), // identifies the caller by key, by plugin, or by address
    limit(deps, page), // counts the request, and responds with 429 if the caller is over its limit
    authorize(realm, identities !== null), // responds with 401 or 403 if the caller must not use the endpoint
    checkRequest(headers), // responds with 400, 404, 405, 406 or 414 to invalid requests
    handle, // runs the middleware of the plugin that owns the endpoint, then the route or mount
  ]);
};

/** Adds error handling, so that errors thrown by this middleware also become responses. */
const guarded = (catching: ApiMiddleware, middleware: readonly Middleware[]): ApiMiddleware[] =>
  middleware.length === 0 ? [] : [catching, ...(middleware as unknown as ApiMiddleware[])];
