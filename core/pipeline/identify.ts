import type { IncomingMessage } from 'node:http';
import type { Tiers } from '../config/tiers.js';
import type { Authenticator, Caller, CallerIdentity, SomeIdentity } from '../keys/authenticator.js';
import type { IdentityChain } from '../keys/identity-chain.js';
import { plainAddress } from '../validation/network.js';
import type { ApiContext, ApiMiddleware } from './api-koa.js';

interface IdentifyOptions {
  readonly keys: Authenticator;
  readonly identities: IdentityChain | null;
  readonly addressOf: (request: IncomingMessage) => string;
  /** A reload replaces `tiers`. */
  readonly settings: { readonly tiers: Tiers };
}

/** Sets `state.caller`. This middleware never rejects a request. */
export const identify = ({ keys, identities, addressOf, settings }: IdentifyOptions): ApiMiddleware => {
  const callerOfKey = (identity: CallerIdentity): Caller => {
    const { tiers } = settings;
    if (identity.caller?.tiers === tiers) return identity.caller;
    const { record: key } = identity;
    const tier = tiers.of(key);
    const limit = key.limit_per_minute ?? tier?.limit ?? tiers.limit;
    const loggedKey = JSON.stringify(key.id);
    identity.caller = { id: identity.account, limit, tier, key, loggedKey, tiers };
    return identity.caller;
  };
  const callerOfAddress = (request: IncomingMessage): Caller => {
    const { tiers } = settings;
    const tier = tiers.anonymous;
    const limit = tier?.limit ?? tiers.limit;
    return { id: `ip:${addressOf(request)}`, limit, tier, key: undefined, loggedKey: 'null', tiers };
  };
  const setCaller = (
    { req, requestState: state }: ApiContext,
    identity: SomeIdentity,
    next: () => Promise<unknown>,
  ) => {
    if (identity.kind === 'key') state.caller = callerOfKey(identity);
    else {
      state.invalidIdentity = identity.kind === 'invalid' ? identity : undefined;
      state.caller = callerOfAddress(req);
    }
    return next();
  };
  return (ctx, next) => {
    const { requestState: state } = ctx;
    // The caller of an inner request, if it has one, is already set.
    if (state.isInner) return next();
    const identity = keys.identify(credentialsOf(ctx.req));
    if (identity.kind === 'key' || !identities) return setCaller(ctx, identity, next);
    const found = identities.identify(ctx.req, () => plainAddress(ctx.ip) ?? ctx.ip);
    // If no plugin identifies the caller, use the result of the key check.
    const combined = (other: SomeIdentity) => setCaller(ctx, other.kind === 'none' ? identity : other, next);
    if (!(found instanceof Promise)) return combined(found);
    return found.then(combined, (error: unknown) => {
      state.identityError = error;
      return setCaller(ctx, identity, next);
    });
  };
};

/**
 * Returns an invalid key if the `Authorization` header is repeated, because Node and a proxy might use different
 * values.
 */
const credentialsOf = ({ headers, rawHeaders }: IncomingMessage): string | undefined => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 13 && rawHeaders[i]!.toLowerCase() === 'authorization') count++;
  }
  return count > 1 ? 'more than one' : headers.authorization;
};
