/** Slots of the shared window that one replica may use without asking, until the end of their grain. */
import type { Decision } from '../contracts/limiter.js';
import type { Granted, Leased } from './window-script.js';

export const NO_LEASE: Leased = { count: 0, stamp: 0 };

/** What a call was granted. */
export interface NumberedGrant extends Granted {
  readonly call: number;
  readonly limit: number;
  /** When it was made, by the monotonic clock: its grain is over at `sent + leaseMs` or later. */
  readonly sent: number;
}

/**
 * Redis has counted the slots when it leased them, by the end of their grain, so whenever within it they are used, no
 * window holds too many. As slots come back at the ends of grains alone, what callers are told stays right meanwhile.
 */
export class Lease {
  #grant: NumberedGrant | undefined;
  #left = 0;
  /** Requests since the last call to Redis, its own included. */
  #used = 0;

  start(grant: NumberedGrant): void {
    this.#grant = grant;
    this.#left = grant.leased.count;
    this.#used = grant.admitted;
  }

  /** The call that has counted it; 0 before there was any. */
  get call(): number {
    return this.#grant?.call ?? 0;
  }

  /** When it is over, by the monotonic clock. */
  get until(): number {
    return this.#grant ? this.#grant.sent + this.#grant.leaseMs : Number.NEGATIVE_INFINITY;
  }

  get left(): number {
    return this.#left;
  }

  /** Uses one slot, if there is one under this limit. */
  take(now: number, limit: number): Decision | undefined {
    if (this.#left === 0 || now >= this.until || limit !== this.#grant!.limit) return undefined;
    const { remaining, sent, resetMs } = this.#grant!;
    this.#left--;
    this.#used++;
    return { allowed: true, limit, remaining: remaining + this.#left, resetMs: Math.max(0, sent + resetMs - now) };
  }

  /** How many slots the next one should have: twice what was used since the last call, if that is not long ago. */
  ahead(now: number, grainMs: number): number {
    return now < this.until + grainMs ? 2 * this.#used : 0;
  }

  /** Ends it, and tells what was not used. */
  end(): Leased {
    if (this.#left === 0) return NO_LEASE;
    const unused = { count: this.#left, stamp: this.#grant!.leased.stamp };
    this.#left = 0;
    return unused;
  }
}
