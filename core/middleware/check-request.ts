/** Finds a request's endpoint and parses its input; refuses invalid requests, without asking a store. */
import type { IncomingMessage } from 'node:http';
import { ApiError, errors } from '../errors.js';
import { allowOf, type CommonHeaders } from '../http/headers.js';
import { Prepared } from '../http/representation.js';
import type { ServiceMiddleware } from '../http/request-state.js';
import type { RouteTable } from '../http/route-table.js';

export interface FindEndpointDependencies {
  readonly routes: RouteTable;
}

/** A fault in the URL is left to `checkRequest`, since the limit and the key are checked first. */
export const findEndpoint =
  ({ routes }: FindEndpointDependencies): ServiceMiddleware =>
  (ctx, next) => {
    ctx.state.match = routes.resolve(ctx.req.url ?? '/');
    return next();
  };

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const BODY_REFUSED = 'This API takes no request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

export const checkRequest =
  ({ headers }: { readonly headers: CommonHeaders }): ServiceMiddleware =>
  (ctx, next) => {
    const { req, res, state } = ctx;
    const { endpoint, fault, format } = state.match!;
    const method = req.method ?? '';
    const body = hasBody(req);
    // An unread body would be taken for the next request, so the connection closes.
    if (body && !endpoint?.mount) res.shouldKeepAlive = false;
    if (endpoint && method === 'OPTIONS') {
      ctx.body = new Prepared(204, headers.options(endpoint.methods));
      return undefined;
    }
    if (endpoint && !endpoint.methods.includes(method)) {
      if (body) res.shouldKeepAlive = false;
      const sentence = endpoint.mount && `This endpoint takes ${allowOf(endpoint.methods)}.`;
      throw new ApiError(errors.method_not_allowed, sentence, { headers: headers.allow(endpoint.methods) });
    }
    if (body && (!endpoint || READS.has(method))) {
      throw new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
    }
    if (fault) throw fault;
    if (!endpoint.mount) {
      state.format = format ?? endpoint.chooseFormat(req.headers.accept);
      if (!state.format) throw new ApiError(errors.not_acceptable);
    }
    return next();
  };

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
