/**
 * What happens to every request. On the way in, the middleware run from top to bottom; what follows their `next()` runs
 * from bottom to top.
 */
import type { Middleware } from 'koa';
import type { CommonHeaders } from './http/headers.js';
import { ServiceKoa } from './http/service-koa.js';
import { answer } from './middleware/answer.js';
import { authorize } from './middleware/authorize.js';
import { checkRequest } from './middleware/check-request.js';
import { commonHeaders } from './middleware/common-headers.js';
import { errors } from './middleware/errors.js';
import { type FindEndpointDependencies, findEndpoint } from './middleware/find-endpoint.js';
import { type IdentifyDependencies, identify } from './middleware/identify.js';
import { type LimitDependencies, limit } from './middleware/limit.js';
import { type ObserveDependencies, observe } from './middleware/observe.js';
import { respond } from './middleware/respond.js';

export interface KoaDependencies
  extends ObserveDependencies,
    FindEndpointDependencies,
    IdentifyDependencies,
    LimitDependencies {
  readonly headers: CommonHeaders;
  readonly serviceMiddleware: readonly Middleware[];
  /** Of `WWW-Authenticate`. */
  readonly realm: string;
  readonly compression: boolean;
  /** How many proxies stand before the service. */
  readonly trustProxy: number;
}

export const createKoa = (deps: KoaDependencies): ServiceKoa => {
  const app = new ServiceKoa(deps);

  app.use(observe(deps)); // tells log, metrics and plugins' observers of the response, once it is written
  app.use(respond(deps)); // writes the response to the socket: in an encoding that the client takes, or as a 304
  app.use(commonHeaders(deps)); // sets request id, security headers and CORS
  app.use(app.around(errors(deps), deps.serviceMiddleware)); // runs plugins' `serviceMiddleware`, then `koa.use()`'s
  app.use(errors(deps)); // makes an ordinary response of what the middleware below throw
  app.use(findEndpoint(deps)); // finds the endpoint and parses its input; a fault waits for checkRequest
  app.use(identify(deps)); // finds the caller: whose key it is or, without a valid one, which address
  app.use(limit(deps)); // counts the request for its caller; 429 past the limit
  app.use(authorize(deps)); // 401 without a valid key, where the endpoint needs one
  app.use(checkRequest(deps)); // 400, 404, 405 or 406
  app.use(answer()); // runs the `middleware` of the endpoint's plugin, then the endpoint: a route or a mount

  return app.complete(); // from now on, `use` adds to the middleware around the service
};
