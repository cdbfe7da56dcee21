/** Refuses what no endpoint can answer: by the fault found in the URL, by method, body and `Accept`. No store is asked. */
import type { IncomingMessage } from 'node:http';
import { ApiError, errors } from '../errors.js';
import { allowOf, type CommonHeaders } from '../http/headers.js';
import { Prepared } from '../http/prepared.js';
import type { ServiceMiddleware } from '../http/request-state.js';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const BODY_REFUSED = 'This API takes no request bodies: send the request without one.';
const BODY_DETAILS = { details: [{ in: 'body', name: '', issue: 'must be absent' }] } as const;

export const checkRequest =
  ({ headers }: { readonly headers: CommonHeaders }): ServiceMiddleware =>
  (ctx, next) => {
    const { req, res, state } = ctx;
    const { address, fault, form } = state.match!;
    const method = req.method ?? '';
    const body = hasBody(req);
    // A body that nobody reads would be taken for the next request.
    if (body && !address?.mount) res.shouldKeepAlive = false;
    if (address && method === 'OPTIONS') {
      ctx.body = new Prepared(204, headers.options(address.methods));
      return undefined;
    }
    if (address && !address.methods.includes(method)) {
      if (body) res.shouldKeepAlive = false;
      const sentence = address.mount && `This address takes ${allowOf(address.methods)}.`;
      throw new ApiError(errors.method_not_allowed, sentence, { headers: headers.allow(address.methods) });
    }
    if (body && (!address || READS.has(method))) {
      throw new ApiError(errors.invalid_parameter, BODY_REFUSED, BODY_DETAILS);
    }
    if (fault) throw fault;
    if (!address.mount) {
      state.form = form ?? address.chooseForm(req.headers.accept);
      if (!state.form) throw new ApiError(errors.not_acceptable);
    }
    return next();
  };

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
