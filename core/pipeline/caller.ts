/** Describes callers to plugins, and creates the callers of inner requests. */
import type { Tiers } from '../config/tiers.js';
import type { CallerAccount, CallerKey, IdentifiedCaller, ServiceRequest } from '../contracts/plugin.js';
import type { Caller } from '../keys/authenticator.js';
import type { RequestState } from './api-koa.js';

interface AnyContext {
  readonly req: object;
  readonly requestState?: Partial<RequestState>;
}

/** Returns the caller's key for plugins, or null if there is no valid key or the caller is not identified yet. */
export const callerOf = ({ requestState }: AnyContext): CallerKey | null => {
  const key = requestState?.caller?.key;
  return key ? { id: key.id, tier: key.tier } : null;
};

const accountOf = ({ requestState }: AnyContext): CallerAccount | null => {
  const { id, limit, tier } = requestState?.caller ?? {};
  if (id === undefined || limit === undefined || !tier?.quotas) return null;
  return { id, limit, tier: tier.name, quotas: tier.quotas };
};

const SECRET = new Set(['authorization', 'proxy-authorization', 'cookie']);

export const serviceRequest = (
  ctx: {
    readonly requestState?: Partial<RequestState>;
    readonly req: { readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> };
  },
  publicUrl: string,
): ServiceRequest => ({
  publicUrl,
  caller: callerOf(ctx),
  account: accountOf(ctx),
  get headers() {
    const open = Object.entries(ctx.req.headers).filter(([name]) => !SECRET.has(name));
    return Object.fromEntries(open.map(([name, value]) => [name, String(value)]));
  },
});

const NO_ENDPOINTS: ReadonlySet<string> = new Set();

export const callerWithoutKey = (tiers: Tiers): Caller => {
  const { limit } = tiers;
  const tier = tiers.anonymous ?? { name: 'none', limit, quotas: undefined, endpoints: NO_ENDPOINTS };
  return { id: 'local', limit, tier, key: undefined, loggedKey: 'null', tiers };
};

export const localCaller = (
  tiers: Tiers,
  { id, tier: name, limit }: Pick<IdentifiedCaller, 'id' | 'tier' | 'limit'>,
): Caller => {
  const tier = tiers.of({ tier: name });
  if (!tier) throw new TypeError(`The caller "${id}" has the tier "${name}", which is not in auth.tiers.`);
  const account = `id:local:${encodeURIComponent(id)}`;
  return {
    id: account,
    limit: limit ?? tier.limit,
    tier,
    key: { id, tier: name },
    loggedKey: JSON.stringify(id),
    tiers,
  };
};
