/** Checks whether the caller is allowed to use the endpoint. */
import type { Tier } from '../config/tiers.js';
import type { ServiceInfo } from '../contracts/service.js';
import { ApiError, errors } from '../errors.js';
import type { ApiMiddleware } from './api-koa.js';

/**
 * Protects the endpoints that need a key. A request without a valid key gets a 401, unless the tier for callers without
 * a key includes the endpoint. If the caller's tier does not include the endpoint, the response is a 403. OPTIONS
 * requests, and methods that the endpoint does not support, are not checked.
 * @param realm the realm in the `WWW-Authenticate` header of a 401
 */
export const authorize = (realm: string): ApiMiddleware => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return (ctx, next) => {
    const { caller, identityError, invalidKey, isInner, match } = ctx.requestState;
    const endpoint = match?.endpoint;
    if (!endpoint?.needsKey || !endpoint.methods.includes(ctx.method)) return next();
    if (identityError !== undefined) throw identityError;
    // An inner request needs no key, because its mount's caller was already checked. The caller's tier still applies.
    const mayEnter = isInner || caller?.key !== undefined || (caller?.tier !== undefined && !invalidKey);
    const isIncluded = caller?.tier === undefined || includes(caller.tier, endpoint.names);
    if (mayEnter && isIncluded) return next();
    if (caller?.tier && (caller.key || isInner)) throw forbidden(caller.tier);
    throw invalidKey
      ? new ApiError(errors.invalid_api_key, undefined, invalid)
      : new ApiError(errors.missing_api_key, undefined, missing);
  };
};

/** The title, if it can be the realm of `WWW-Authenticate`: a quoted string of ASCII (RFC 9110, section 11.5). */
export const realmOf = ({ title }: ServiceInfo): string => (/^[ !#-[\]-~]+$/.test(title) ? title : 'API');

const forbidden = ({ name, endpoints }: Tier): ApiError => {
  const included = [...(endpoints ?? [])].join(', ');
  return new ApiError(
    errors.not_in_tier,
    `The tier "${name}" does not include this endpoint. It includes ${included}.`,
  );
};

/**
 * Whether callers with this tier may use an endpoint.
 * @param names the names of the endpoint: its plugin and its path
 */
export const includes = ({ endpoints }: Tier, names: readonly string[]): boolean =>
  endpoints === null || names.some((name) => endpoints.has(name));
