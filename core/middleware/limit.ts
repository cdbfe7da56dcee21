/** Counts the request, and refuses it past the caller's limit or a quota. */
import { USAGE_PATH } from '../config/tiers.js';
import type { Decision, Limiter } from '../contracts/limiter.js';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import { errorResponse } from '../http/error-response.js';
import { type CommonHeaders, limitLines } from '../http/headers.js';
import { Prepared } from '../http/representation.js';
import type { RequestState, ServiceContext, ServiceMiddleware } from '../http/request-state.js';
import { addLines } from '../http/service-koa.js';
import { faultOf } from './check-request.js';

export interface LimitDependencies {
  readonly limiter: Limiter;
  readonly logger: Logger;
  readonly headers: CommonHeaders;
}

/**
 * Whether a caller asks for its own usage: such requests have a window of their own, and neither use up a quota nor are
 * part of the usage, so that asking how much is left costs nothing and is bounded all the same.
 */
const asksForUsage = ({ caller, invalidKey, match }: RequestState, method: string): boolean => {
  if (!caller?.tier?.quotas || invalidKey || match?.fault !== undefined) return false;
  const endpoint = match?.endpoint;
  return endpoint?.names.includes(USAGE_PATH) === true && endpoint.methods.includes(method);
};

export const limit = ({ limiter, logger, headers }: LimitDependencies): ServiceMiddleware => {
  const refusal = errorResponse(new ApiError(errors.rate_limited), logger, '');
  const quotaRefusal = errorResponse(new ApiError(errors.quota_exceeded), logger, '');
  const settle = (
    ctx: ServiceContext,
    decision: Decision,
    next: () => Promise<unknown>,
  ): Promise<unknown> | undefined => {
    ctx.state.decision = decision;
    // Responses that shared caches may store carry nothing about a caller.
    if (!ctx.state.match?.endpoint?.shared) addLines(ctx.res, limitLines(decision));
    if (decision.allowed) return next();
    // Prepared and not thrown: a stack trace would make a refused request cost more than an admitted one.
    const usedUp = decision.quotas?.filter(({ remaining }) => remaining === 0) ?? [];
    const { status, head, payload } = usedUp.length > 0 ? quotaRefusal : refusal;
    const resetMs = usedUp.length > 0 ? Math.max(...usedUp.map((quota) => quota.resetMs)) : decision.resetMs;
    ctx.body = new Prepared(status, `${head}Retry-After: ${Math.max(1, Math.ceil(resetMs / 1000))}\r\n`, payload);
    return undefined;
  };
  return (ctx, next) => {
    const { caller, isInner, match } = ctx.state;
    // A fault costs more than the response of an endpoint without a limit: it counts as anywhere else.
    if (isInner || (match?.endpoint?.limited === false && !faultOf(ctx, headers))) return next();
    const { subject, limit, tier } = caller!;
    const decision = asksForUsage(ctx.state, ctx.method)
      ? limiter.take(`${subject}${USAGE_PATH}`, limit)
      : limiter.take(subject, limit, tier?.quotas);
    return decision instanceof Promise
      ? decision.then((decided) => settle(ctx, decided, next))
      : settle(ctx, decision, next);
  };
};
