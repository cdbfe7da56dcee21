/** Refuses requests without a valid key where the endpoint needs one. OPTIONS asks about methods, not data. */
import { ApiError, errors } from '../errors.js';
import type { ServiceMiddleware } from '../http/request-state.js';

export const authorize = ({ realm }: { readonly realm: string }): ServiceMiddleware => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return (ctx, next) => {
    const { caller, invalidKey, isInner, match } = ctx.state;
    const needsKey = !isInner && match?.address?.needsKey && match.address.methods.includes(ctx.method);
    if (!needsKey || caller?.key) return next();
    throw invalidKey
      ? new ApiError(errors.invalid_api_key, undefined, invalid)
      : new ApiError(errors.missing_api_key, undefined, missing);
  };
};
