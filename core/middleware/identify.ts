/** Finds the caller of a request, and refuses one without a valid key where the endpoint needs one. */
import type { IncomingMessage } from 'node:http';
import { includes, type Tier, type Tiers } from '../config/tiers.js';
import type { KeyRecord } from '../contracts/keys.js';
import { ApiError, errors } from '../errors.js';
import type { CallerAddress } from '../http/caller-address.js';
import type { Caller, ServiceMiddleware } from '../http/request-state.js';
import type { Authenticator } from '../keys/authenticator.js';

/**
 * 401 without a valid key where the endpoint needs one, and callers without a key have no tier that includes it; 403 where
 * the key's tier does not. Not for OPTIONS, which asks about methods and not data.
 */
export const authorize = ({ realm }: { readonly realm: string }): ServiceMiddleware => {
  const missing = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` } };
  const invalid = { headers: { 'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_token"` } };
  return (ctx, next) => {
    const { caller, invalidKey, isInner, match } = ctx.state;
    const endpoint = match?.endpoint;
    if (!endpoint?.needsKey || !endpoint.methods.includes(ctx.method)) return next();
    // A mount has let the caller in, or it is this process itself: only a tier may still forbid it.
    const mayEnter = isInner || caller?.key !== undefined || (caller?.tier !== undefined && !invalidKey);
    const isIncluded = caller?.tier === undefined || includes(caller.tier, endpoint.names);
    if (mayEnter && isIncluded) return next();
    if (caller?.tier && (caller.key || isInner)) throw forbidden(caller.tier);
    throw invalidKey
      ? new ApiError(errors.invalid_api_key, undefined, invalid)
      : new ApiError(errors.missing_api_key, undefined, missing);
  };
};

const forbidden = ({ name, endpoints }: Tier): ApiError => {
  const included = [...(endpoints ?? [])].join(', ');
  return new ApiError(
    errors.not_in_tier,
    `The tier "${name}" does not include this endpoint. It includes ${included}.`,
  );
};

export interface IdentifyDependencies {
  readonly keys: Authenticator;
  readonly addressOf: CallerAddress;
  /** How much callers may send: another object when that changes while the service runs. */
  readonly tiers: () => Tiers;
}

export const identify = ({ keys, addressOf, tiers }: IdentifyDependencies): ServiceMiddleware => {
  let callers = new WeakMap<KeyRecord, Caller>();
  let known = tiers();
  const callerOf = (key: KeyRecord): Caller => {
    if (known !== tiers()) {
      known = tiers();
      callers = new WeakMap();
    }
    let caller = callers.get(key);
    if (!caller) {
      const tier = known.of(key);
      const limit = key.limit_per_minute ?? tier?.limit ?? known.limit;
      caller = { subject: `key:${key.shares_limit_of ?? key.id}`, limit, tier, key };
      callers.set(key, caller);
    }
    return caller;
  };
  return (ctx, next) => {
    const { state } = ctx;
    // An inner request has the caller of its outer one.
    if (state.isInner) return next();
    const identity = keys.identify(credentialsOf(ctx.req));
    if (identity.kind === 'key') state.caller = callerOf(identity.record);
    else {
      state.invalidKey = identity.kind === 'invalid';
      const { anonymous, limit } = tiers();
      const subject = `ip:${addressOf(ctx.req)}`;
      state.caller = { subject, limit: anonymous?.limit ?? limit, tier: anonymous, key: undefined };
    }
    return next();
  };
};

/** A repeated Authorization header is refused: the proxy before us may have used either one, and Node keeps the first. */
const credentialsOf = ({ headers, rawHeaders }: IncomingMessage): string | undefined => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization') count++;
  }
  return count > 1 ? 'more than one' : headers.authorization;
};
