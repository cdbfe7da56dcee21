/** An entry of the shared cache with the lease on building it, both in one hash in Redis and on its clock. */
import { randomBytes } from 'node:crypto';
import type { RedisConnection } from '../redis.js';
import { RedisScript } from '../redis-script.js';
import { within } from '../within.js';

const claimScript = new RedisScript('core/cache/claim.lua');
const keepScript = new RedisScript('core/cache/keep.lua');

/** A builder that has not renewed its lease for so long is taken for dead, or for failed. */
export const LEASE_MS = 2000;
/** An entry that nobody asked for in so long is forgotten. */
const KEEP_MS = 24 * 3600 * 1000;

export interface Claim {
  /** Whether the caller is to build it now. */
  readonly mine: boolean;
  /** What there is, however old. */
  readonly found: { readonly value: string; readonly ageMs: number } | undefined;
}

/** One process's part in building one entry. Methods reject when Redis does not answer in time. */
export class Lease {
  readonly #token = randomBytes(12).toString('hex');

  constructor(
    readonly redis: RedisConnection,
    readonly key: string,
    readonly ttlMs: number,
  ) {}

  /** Reads the entry; takes the lease if it is due and free, and renews one that is held. */
  async claim(): Promise<Claim> {
    const args = [this.#token, this.ttlMs, LEASE_MS, KEEP_MS];
    const reply = claimScript.run<[number, string | null, number]>(this.redis.client, this.key, args);
    const [mine, value, ageMs] = await within(reply, this.redis.timeoutMs);
    return { mine: mine === 1, found: value === null ? undefined : { value, ageMs } };
  }

  /** Writes the entry and ends the lease. Does nothing when the lease was lost. */
  keep(value: string): Promise<unknown> {
    return this.#end([this.#token, KEEP_MS, value]);
  }

  /** Ends the lease without a value. */
  release(): Promise<unknown> {
    return this.#end([this.#token, KEEP_MS]);
  }

  #end(args: readonly (string | number)[]): Promise<unknown> {
    return within(keepScript.run(this.redis.client, this.key, args), this.redis.timeoutMs);
  }
}
