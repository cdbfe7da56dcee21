/** Counts the request, and refuses it past the caller's limit. */
import type { Decision, Limiter } from '../contracts/limiter.js';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import { errorResponse } from '../http/error-response.js';
import { limitLines } from '../http/headers.js';
import { addLines } from '../http/koa-response.js';
import { Prepared } from '../http/prepared.js';
import type { ServiceContext, ServiceMiddleware } from '../http/request-state.js';

export interface LimitDependencies {
  readonly limiter: Limiter;
  readonly logger: Logger;
}

export const limit = ({ limiter, logger }: LimitDependencies): ServiceMiddleware => {
  const refusal = errorResponse(new ApiError(errors.rate_limited), logger, '');
  const settle = (
    ctx: ServiceContext,
    decision: Decision,
    next: () => Promise<unknown>,
  ): Promise<unknown> | undefined => {
    ctx.state.decision = decision;
    // Shared caches keep some responses: those carry nothing about a caller.
    if (!ctx.state.match?.address?.shared) addLines(ctx.res, limitLines(decision));
    if (decision.allowed) return next();
    // Prepared, not thrown: a refused request must not cost more than an admitted one, and a stack trace does.
    const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
    ctx.body = new Prepared(refusal.status, `${refusal.head}Retry-After: ${seconds}\r\n`, refusal.payload);
    return undefined;
  };
  return (ctx, next) => {
    const { caller, isInner, match } = ctx.state;
    if (isInner || match?.address?.limited === false) return next();
    const decision = limiter.take(caller!.subject, caller!.limit);
    return decision instanceof Promise
      ? decision.then((decided) => settle(ctx, decided, next))
      : settle(ctx, decision, next);
  };
};
