/**
 * What happens to every request: middleware run from top to bottom, and what follows their `next()` from bottom to top.
 * A refusal is thrown and becomes a response in `catchErrors`, so the middleware above it see refusals as responses.
 * The limit comes before the key and the key before faults of the request, so that every request is counted.
 */
import { handle } from '../routes/handle-endpoint.js';
import {
  addCommonHeaders,
  authorize,
  catchErrors,
  checkRequest,
  findEndpoint,
  identify,
  type KoaDependencies,
  limit,
  observe,
  respond,
} from './middleware.js';
import { ServiceKoa } from './service-koa.js';

export const createKoa = (deps: KoaDependencies): ServiceKoa => {
  const app = new ServiceKoa(deps);

  app.use(observe(deps)); // reports the response, once it is written, to log, metrics and plugins' observers
  app.use(respond(deps)); // writes the response itself, in place of Koa: compressed, or as a 304, where that is right
  app.use(addCommonHeaders(deps)); // sets what every response has, before anything else runs: request id, security, CORS
  app.use(app.around(catchErrors(deps), deps.serviceMiddleware)); // plugins' `serviceMiddleware`; what they throw: `catchErrors`
  app.use(catchErrors(deps)); // makes a response of what the middleware below throw, and keeps the headers set above
  app.use(findEndpoint(deps)); // finds the route or mount and parses its parameters; checkRequest reports what is wrong
  app.use(identify(deps)); // finds the caller: the owner of a valid key, otherwise the client's address; refuses nobody
  app.use(limit(deps)); // counts the request against its caller's limit; past it 429
  app.use(authorize(deps)); // 401 without a valid key, if the endpoint needs one; others ignore a wrong key
  app.use(checkRequest(deps)); // 400, 404, 405 or 406, for what findEndpoint has found wrong
  app.use(handle()); // runs the `middleware` of the endpoint's plugin, then the route or mount

  return app.complete(); // the list above is complete: `use` from now on adds middleware behind `serviceMiddleware`
};
