import type { IncomingMessage } from 'node:http';
import type { Format } from '../contracts/format.js';
import { ApiError, errors } from '../errors.js';
import { allowOf, type CommonHeaders, READ_METHODS } from '../response/headers.js';
import { Prepared } from '../response/representation.js';
import type { ApiMiddleware, Match } from './api-koa.js';

/** Errors of a request are stored for `checkRequest`, because the rate limit and the key are checked first. */
export const negotiate: ApiMiddleware = ({ req, requestState: state }, next) => {
  const match = state.match!;
  state.format = match.format ?? match.endpoint?.chooseFormat?.(req.headers.accept);
  state.error = requestError(req, match, state.format);
  return next();
};

export const checkRequest =
  (headers: CommonHeaders): ApiMiddleware =>
  (ctx, next) => {
    const { req, res, requestState: state } = ctx;
    const { endpoint } = state.match!;
    const method = req.method ?? '';
    const isBodyRead = endpoint?.mount && endpoint.methods.includes(method) && !READ_METHODS.includes(method);
    // Node would parse an unread body as the next request, so the connection is closed after the response.
    if (!isBodyRead && hasBody(req)) res.shouldKeepAlive = false;
    if (state.error) throw state.error;
    if (endpoint && method === 'OPTIONS') {
      ctx.body = new Prepared(204, headers.options(endpoint.methods, endpoint.mount?.requestHeaders));
      return undefined;
    }
    return next();
  };

export const handle: ApiMiddleware = (ctx, next) => ctx.requestState.match!.endpoint!.handle(ctx, next);

const BODY_REFUSED = 'This API does not accept request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

const requestError = (req: IncomingMessage, { endpoint, error }: Match, format: Format | undefined): unknown => {
  const method = req.method ?? '';
  if (endpoint && method === 'OPTIONS') return undefined;
  if (endpoint && !endpoint.methods.includes(method)) {
    const allowed = allowOf(endpoint.methods);
    const sentence = endpoint.mount && `This endpoint supports ${allowed}.`;
    return new ApiError(errors.method_not_allowed, sentence, { headers: { Allow: allowed } });
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
