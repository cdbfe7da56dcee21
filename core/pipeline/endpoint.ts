/**
 * The middleware of the endpoint: `findEndpoint` matches the URL, `checkRequest` rejects invalid requests, and `handle`
 * runs the endpoint.
 */
import type { IncomingMessage } from 'node:http';
import { ApiError, errors } from '../errors.js';
import type { Format } from '../response/formats.js';
import { allowOf, type CommonHeaders, READ_METHODS } from '../response/headers.js';
import { Prepared } from '../response/representation.js';
import type { Match, ServiceMiddleware } from './service-koa.js';

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

/**
 * Throws the error that `findEndpoint` has found: 400, 404, 405, 406 or 414. Responds to OPTIONS. Reads no data.
 */
export const checkRequest =
  (headers: CommonHeaders): ServiceMiddleware =>
  (ctx, next) => {
    const { req, res, state } = ctx;
    const { endpoint } = state.match!;
    const method = req.method ?? '';
    const isBodyRead = endpoint?.mount && endpoint.methods.includes(method) && !READ_METHODS.includes(method);
    // Node would take an unread body for the next request, so the connection closes.
    if (!isBodyRead && hasBody(req)) res.shouldKeepAlive = false;
    if (state.error) throw state.error;
    if (endpoint && method === 'OPTIONS') {
      ctx.body = new Prepared(204, headers.options(endpoint.methods, endpoint.mount?.requestHeaders));
      return undefined;
    }
    return next();
  };

/** Runs the middleware of the endpoint's plugin, then the route or mount. */
export const handle: ServiceMiddleware = (ctx, next) => ctx.state.match!.endpoint!.handle(ctx, next);

const BODY_REFUSED = 'This API takes no request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

/** The error of a request, regardless of its caller. */
export const requestError = (
  req: IncomingMessage,
  { endpoint, error }: Match,
  format: Format | undefined,
  headers: CommonHeaders,
): ApiError | undefined => {
  const method = req.method ?? '';
  if (endpoint && method === 'OPTIONS') return undefined;
  if (endpoint && !endpoint.methods.includes(method)) {
    const sentence = endpoint.mount && `This endpoint takes ${allowOf(endpoint.methods)}.`;
    return new ApiError(errors.method_not_allowed, sentence, { headers: headers.allow(endpoint.methods) });
  }
  if (hasBody(req) && (!endpoint || READ_METHODS.includes(method))) {
    return new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
  }
  if (error) return error;
  return endpoint?.chooseFormat && !format ? new ApiError(errors.not_acceptable) : undefined;
};

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
