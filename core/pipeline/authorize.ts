import type { Tier } from '../config/tiers.js';
import type { ServiceInfo } from '../contracts/service.js';
import { ApiError, errors } from '../errors.js';
import { mergedHeaders } from '../response/headers.js';
import type { ApiMiddleware } from './api-koa.js';

const OR_OTHER_CREDENTIALS = {
  missing:
    'Send an API key in the header "Authorization: Bearer <API_KEY>", or other credentials that openapi.json describes.',
  invalid: 'The credentials are not valid. Check that they are complete and current. openapi.json describes them.',
};

/**
 * OPTIONS requests and unsupported methods are not checked.
 * @param hasIdentities true if plugins accept other credentials than API keys
 */
export const authorize = (realm: string, hasIdentities: boolean): ApiMiddleware => {
  const sentences = hasIdentities ? OR_OTHER_CREDENTIALS : { missing: undefined, invalid: undefined };
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` };
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
      ? new ApiError(errors.invalid_api_key, invalidIdentity.message ?? sentences.invalid, {
          headers: mergedHeaders(invalid, invalidIdentity.headers),
        })
      : new ApiError(errors.missing_api_key, sentences.missing, missing);
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
