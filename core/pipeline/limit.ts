import { USAGE_PATH } from '../config/tiers.js';
import { type Decision, type Limiter, type QuotaState, WINDOW_MS } from '../contracts/limiter.js';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import { errorResponse } from '../response/error-response.js';
import { digits } from '../response/headers.js';
import { Prepared } from '../response/representation.js';
import { addLines } from '../response/writer.js';
import type { ApiContext, ApiMiddleware, RequestState } from './api-koa.js';
import type { ErrorPage } from './error-page.js';

interface LimitOptions {
  readonly limiter: Limiter;
  readonly logger: Logger;
}

export const limit = ({ limiter, logger }: LimitOptions, errorPage: ErrorPage): ApiMiddleware => {
  const rejection = errorResponse(new ApiError(errors.rate_limited), logger, '');
  const quotaRejection = errorResponse(new ApiError(errors.quota_exceeded), logger, '');
  const applyDecision = (
    ctx: ApiContext,
    decision: Decision,
    next: () => Promise<unknown>,
  ): Promise<unknown> | undefined => {
    ctx.requestState.decision = decision;
    // Shared caches can store responses of shared endpoints, so these responses must not contain the caller's limit.
    if (!ctx.requestState.match?.endpoint?.shared) addLines(ctx.res, limitLines(decision));
    if (decision.allowed) return next();
    const usedUp = decision.quotas?.filter(({ remaining }) => remaining === 0) ?? [];
    const resetMs = usedUp.length > 0 ? Math.max(...usedUp.map((quota) => quota.resetMs)) : decision.resetMs;
    const seconds = String(Math.max(1, Math.ceil(resetMs / 1000)));
    if (errorPage(ctx.req)) {
      const kind = usedUp.length > 0 ? errors.quota_exceeded : errors.rate_limited;
      throw new ApiError(kind, undefined, { headers: { 'Retry-After': seconds } });
    }
    // The rejection is prepared in advance, because throwing an error would cost more than a normal response.
    const { status, head, payload } = usedUp.length > 0 ? quotaRejection : rejection;
    ctx.body = new Prepared(status, `${head}Retry-After: ${seconds}\r\n`, payload);
    return undefined;
  };
  return (ctx, next) => {
    const { caller, error, isInner, match } = ctx.requestState;
    // Invalid requests count even on endpoints without a limit, because error responses cost more than normal ones.
    if (isInner || (match?.endpoint?.limited === false && !error)) return next();
    const { id, limit, tier } = caller!;
    const decision = asksForUsage(ctx.requestState, ctx.method)
      ? limiter.take(`${id}${USAGE_PATH}`, limit)
      : limiter.take(id, limit, tier?.quotas);
    return decision instanceof Promise
      ? decision.then((decided) => applyDecision(ctx, decided, next))
      : applyDecision(ctx, decision, next);
  };
};

/** Requests to `GET /usage` have a separate window and no quotas, so that callers can always read their usage. */
const asksForUsage = ({ caller, invalidIdentity, match }: RequestState, method: string): boolean => {
  if (!caller?.tier?.quotas || invalidIdentity || match?.error !== undefined) return false;
  const endpoint = match?.endpoint;
  return endpoint?.names.includes(USAGE_PATH) === true && endpoint.methods.includes(method);
};

const windowSeconds = WINDOW_MS / 1000;

/**
 * The headers follow an IETF draft: `RateLimit-Policy` lists all policies, and `RateLimit` contains the policy with the
 * fewest remaining requests.
 */
export const limitLines = ({ quotas, ...decision }: Decision): string =>
  quotas === undefined || quotas.length === 0 ? windowLines(decision) : quotaLines(decision, quotas);

const quotaLines = ({ limit, remaining, resetMs }: Decision, quotas: readonly QuotaState[]): string => {
  let policies = `"default";q=${limit};w=${windowSeconds}`;
  let least = { name: 'default', remaining, resetMs };
  for (const quota of quotas) {
    policies += `, "${quota.name}";q=${quota.quota};w=${quota.lengthMs / 1000}`;
    if (quota.remaining < least.remaining || (quota.remaining === 0 && quota.resetMs > least.resetMs)) least = quota;
  }
  const { name } = least;
  return `RateLimit-Policy: ${policies}\r\nRateLimit: "${name}";r=${least.remaining};t=${Math.ceil(least.resetMs / 1000)}\r\n`;
};

const windowLines = ({ limit, remaining, resetMs }: Decision): string =>
  `RateLimit-Policy: "default";q=${limit};w=${windowSeconds}\r\nRateLimit: "default";r=${digits(remaining)};t=${Math.ceil(resetMs / 1000)}\r\n`;
