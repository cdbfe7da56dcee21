/** Tells whose request it is: its key's where a valid one was sent, else its address's. */
import type { IncomingMessage } from 'node:http';
import type { KeyRecord } from '../contracts/keys.js';
import type { CallerAddress } from '../http/caller-address.js';
import type { Caller, ServiceMiddleware } from '../http/request-state.js';
import type { KeyRing } from '../keys/key-ring.js';

export interface IdentifyDependencies {
  readonly keys: KeyRing;
  readonly addressOf: CallerAddress;
  /** The limit of callers that have none of their own. */
  readonly requestsPerMinute: number;
}

export const identify = ({ keys, addressOf, requestsPerMinute }: IdentifyDependencies): ServiceMiddleware => {
  const callers = new WeakMap<KeyRecord, Caller>();
  const callerOf = (key: KeyRecord): Caller => {
    let caller = callers.get(key);
    if (!caller) {
      const limit = key.limit_per_minute ?? requestsPerMinute;
      caller = { subject: `key:${key.shares_limit_of ?? key.id}`, limit, key };
      callers.set(key, caller);
    }
    return caller;
  };
  return (ctx, next) => {
    const { state } = ctx;
    // An inner request is its outer one's caller's.
    if (state.isInner) return next();
    const identity = keys.identify(credentialsOf(ctx.req));
    if (identity.kind === 'key') state.caller = callerOf(identity.record);
    else {
      state.invalidKey = identity.kind === 'invalid';
      state.caller = { subject: `ip:${addressOf(ctx.req)}`, limit: requestsPerMinute, key: undefined };
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
