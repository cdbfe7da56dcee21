/** Finds a request's endpoint and parses its input; refuses invalid requests, without asking a store. */
import type { IncomingMessage } from 'node:http';
import { ApiError, errors } from '../errors.js';
import { allowOf, type CommonHeaders } from '../http/headers.js';
import { Prepared } from '../http/representation.js';
import type { ServiceContext, ServiceMiddleware } from '../http/request-state.js';
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

/** Finds what is wrong with a request, whoever sends it; chooses the format of the response to a valid one. */
export const faultOf = ({ req, state }: ServiceContext, headers: CommonHeaders): ApiError | undefined => {
  const { endpoint, fault, format } = state.match!;
  const method = req.method ?? '';
  if (endpoint && method === 'OPTIONS') return undefined;
  if (endpoint && !endpoint.methods.includes(method)) {
    const sentence = endpoint.mount && `This endpoint takes ${allowOf(endpoint.methods)}.`;
    return new ApiError(errors.method_not_allowed, sentence, { headers: headers.allow(endpoint.methods) });
  }
  if (hasBody(req) && (!endpoint || READS.has(method))) {
    return new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
  }
  if (fault) return fault;
  if (endpoint.mount) return undefined;
  state.format = format ?? endpoint.chooseFormat(req.headers.accept);
  return state.format ? undefined : new ApiError(errors.not_acceptable);
};

export const checkRequest =
  ({ headers }: { readonly headers: CommonHeaders }): ServiceMiddleware =>
  (ctx, next) => {
    const { req, res, state } = ctx;
    const { endpoint } = state.match!;
    const method = req.method ?? '';
    const isBodyRead = endpoint?.mount && endpoint.methods.includes(method) && !READS.has(method);
    // An unread body would be taken for the next request, so the connection closes.
    if (!isBodyRead && hasBody(req)) res.shouldKeepAlive = false;
    const fault = faultOf(ctx, headers);
    if (fault) throw fault;
    if (endpoint && method === 'OPTIONS') {
      ctx.body = new Prepared(204, headers.options(endpoint.methods));
      return undefined;
    }
    return next();
  };

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
