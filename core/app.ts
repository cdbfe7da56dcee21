/** What happens to every request, in order: read from top to bottom. */
import type { Middleware } from 'koa';
import type { CommonHeaders } from './http/headers.js';
import { ServiceKoa } from './http/service-koa.js';
import { answer } from './middleware/answer.js';
import { authorize } from './middleware/authorize.js';
import { check } from './middleware/check.js';
import { commonHeaders } from './middleware/common-headers.js';
import { errors } from './middleware/errors.js';
import { type IdentifyDependencies, identify } from './middleware/identify.js';
import { type LimitDependencies, limit } from './middleware/limit.js';
import { type ObserveDependencies, observe } from './middleware/observe.js';
import { type ResolveDependencies, resolve } from './middleware/resolve.js';
import { respond } from './middleware/respond.js';

export interface KoaDependencies
  extends ObserveDependencies,
    ResolveDependencies,
    IdentifyDependencies,
    LimitDependencies {
  readonly headers: CommonHeaders;
  readonly serviceMiddleware: readonly Middleware[];
  readonly realm: string;
  readonly compression: boolean;
}

export const createKoa = (deps: KoaDependencies): ServiceKoa => {
  const app = new ServiceKoa(deps);

  app.use(observe(deps)); // after the response: log, metrics, plugins' observers
  app.use(respond(deps)); // writes what the rest has settled on: compressed, or as a 304
  app.use(commonHeaders(deps)); // request id, security, CORS: on every response
  app.use(errors(deps)); // of the middleware around the service
  app.use(app.around(deps.serviceMiddleware)); // plugins' `serviceMiddleware`, then `app.koa.use()`
  app.use(errors(deps)); // of all below: a thrown error becomes an ordinary response here
  app.use(resolve(deps)); // URL to endpoint and checked input
  app.use(identify(deps)); // whose key; without a valid one, whose address
  app.use(limit(deps)); // 429
  app.use(authorize(deps)); // 401
  app.use(check(deps)); // 400, 404, 405, 406
  app.use(answer()); // the plugin's own `middleware`, then the route or the mount

  return app.complete();
};
