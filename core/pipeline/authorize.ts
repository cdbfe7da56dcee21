import type { Tier } from '../config/tiers.js';
import type { ServiceInfo } from '../contracts/service.js';
import { ApiError, errors } from '../errors.js';
import type { ApiMiddleware } from './api-koa.js';

/** OPTIONS requests and unsupported methods are not checked. */
export const authorize = (realm: string): ApiMiddleware => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return (ctx, next) => {
    const { caller, identityError, invalidIdentity, isInner, match } = ctx.requestState;
    const endpoint = match?.endpoint;
    if (!endpoint?.needsKey || !endpoint.methods.includes(ctx.method)) return next();
    if (identityError !== undefined) throw identityError;
    // The key of the outer request was already checked, so its inner requests need no key. The tier still applies.
    const mayEnter = isInner || caller?.key !== undefined || (caller?.tier !== undefined && !invalidIdentity);
    const isIncluded = caller?.tier === undefined || includes(caller.tier, endpoint.names);
    if (mayEnter && isIncluded) return next();
    if (caller?.tier && (caller.key || isInner)) throw forbidden(caller.tier);
    throw invalidIdentity
      ? new ApiError(errors.invalid_api_key, invalidIdentity.message, invalid)
      : new ApiError(errors.missing_api_key, undefined, missing);
  };
};

/** An authentication realm is a quoted ASCII string (RFC 9110, 11.5). */
export const realmOf = ({ title }: ServiceInfo): string => (/^[ !#-[\]-~]+$/.test(title) ? title : 'API');

const forbidden = ({ name, endpoints }: Tier): ApiError => {
  const included = [...(endpoints ?? [])].join(', ');
  return new ApiError(
    errors.not_in_tier,
    `The tier "${name}" does not include this endpoint. It includes ${included}.`,
  );
};

export const includes = ({ endpoints }: Tier, names: readonly string[]): boolean =>
  endpoints === null || names.some((name) => endpoints.has(name));
