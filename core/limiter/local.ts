import type { Decision } from '../contracts/limiter.js';
import { LimiterUnavailable } from '../errors.js';
import type { CallerState } from './caller.js';
import { withQuotas } from './decisions.js';
import type { Partition } from './partition.js';
import { dayOf } from './quotas.js';

export type OutagePolicy =
  /** With `local`, each replica applies its local share: the limit divided by the number of replicas. */
  'local' | 'closed' | 'open';

export const OUTAGE_MESSAGES: Record<OutagePolicy, string> = {
  local: 'The rate limit store is unavailable: each replica applies its share of the limits.',
  closed: 'The rate limit store is unavailable: requests that count towards a limit are rejected.',
  open: 'The rate limit store is unavailable: no limits are applied.',
};

interface LocalLimitsOptions {
  readonly outagePolicy: OutagePolicy;
  readonly replicas: number;
  readonly windowMs: number;
  readonly startedAt: number;
}

interface Share {
  readonly whole: number;
  readonly permits: number;
  readonly growsInMs: number;
}

export class LocalLimits {
  readonly #options: LocalLimitsOptions;

  constructor(options: LocalLimitsOptions) {
    this.#options = options;
  }

  /** Redis does not count requests that are decided locally, so their callers need a resync. */
  decide({ decisions, sync }: Partition, caller: CallerState, now: number): Decision | Promise<never> {
    const { outagePolicy } = this.#options;
    if (outagePolicy === 'closed') return Promise.reject(new LimiterUnavailable(OUTAGE_MESSAGES.closed));
    const { limit, usage } = caller;
    const time = decisions.redisTime(now);
    const today = dayOf(time);
    const decision =
      outagePolicy === 'open'
        ? { allowed: true, limit, remaining: limit, resetMs: 0 }
        : this.#decideByShare(caller, now, today);
    if (!decision.allowed) usage?.addRejected(today, 1);
    else if (usage) usage.addLocal(today);
    // With the policy `open`, requests allowed during an outage do not count against the limit. Their callers need a
    // resync only if usage is counted.
    if (decision.allowed && (usage || outagePolicy === 'local')) sync.requireResync(caller);
    return withQuotas(decision, decisions.quotas(caller, time));
  }

  #decideByShare(caller: CallerState, now: number, today: number): Decision {
    const { limit, quotas, usage, window, rejectUntil, resetAt } = caller;
    const { replicas } = this.#options;
    const share = this.#share(limit, now);
    const hasQuota = !usage || !quotas || usage.hasLocalShare(quotas, today, replicas);
    // Redis has reported that the caller has used its limit, possibly on other replicas.
    if (hasQuota && now < rejectUntil) {
      return { allowed: false, limit: share.whole, remaining: 0, resetMs: resetAt - now };
    }
    const { allowed, remaining, resetMs } = window.take(now, share.permits, hasQuota);
    // The local share is reported as the limit, because this replica rejects requests beyond its share.
    if (allowed) return { allowed, limit: share.whole, remaining, resetMs };
    // If a caller has used up its share of a quota, it should retry once per window until Redis is available again.
    const waitMs = hasQuota ? share.growsInMs : this.#options.windowMs;
    return { allowed, limit: share.whole, remaining: 0, resetMs: Math.max(resetMs, waitMs) };
  }

  /**
   * A new replica does not know how many requests were admitted before it started. Its local share therefore grows from
   * 0 during the first window, so that a replica that restarts often admits at most one full share per window.
   */
  #share(limit: number, now: number): Share {
    const { windowMs, replicas, startedAt } = this.#options;
    const whole = Math.max(1, Math.floor(limit / replicas));
    const age = now - startedAt;
    if (age >= windowMs) return { whole, permits: whole, growsInMs: 0 };
    const permits = Math.floor((whole * age) / windowMs);
    return { whole, permits, growsInMs: ((permits + 1) * windowMs) / whole - age };
  }
}
