/** An entry of the shared cache with the lock on building it, both in one hash in Redis and on its clock. */
import { randomBytes } from 'node:crypto';
import { type RedisConnection, RedisScript, readScript } from '../redis/connection.js';
import { withTimeout } from '../scheduling/with-timeout.js';

const claimScript = new RedisScript(readScript('core/cache/claim.lua'));
const storeScript = new RedisScript(readScript('core/cache/store.lua'));

/** A builder that has not renewed its lock for this long counts as dead or failed. */
export const LOCK_MS = 2000;
/** An entry that nobody has asked for in this time expires. */
const EXPIRE_MS = 24 * 3600 * 1000;

export interface Claim {
  /** Whether the caller is to build it now. */
  readonly mine: boolean;
  /** The cached value, however old. */
  readonly found: { readonly value: string; readonly ageMs: number } | undefined;
}

/** One process's part in building one entry. Methods reject when Redis does not answer in time. */
export class BuildLock {
  readonly #token = randomBytes(12).toString('hex');

  constructor(
    readonly redis: RedisConnection,
    readonly key: string,
    readonly ttlMs: number,
  ) {}

  /** Reads the entry; takes the lock if it is due and free, and renews one that is held. */
  async claim(): Promise<Claim> {
    const args = [this.#token, this.ttlMs, LOCK_MS, EXPIRE_MS];
    const reply = claimScript.run<[number, Buffer | null, number]>(this.redis.client, [this.key], args);
    const [mine, value, ageMs] = await withTimeout(reply, this.redis.timeoutMs);
    return { mine: mine === 1, found: value === null ? undefined : { value: value.toString(), ageMs } };
  }

  /** Writes the entry and ends the lock. Does nothing when the lock was lost. */
  store(value: string): Promise<unknown> {
    return this.#end([this.#token, EXPIRE_MS, value]);
  }

  /** Ends the lock without a value. */
  release(): Promise<unknown> {
    return this.#end([this.#token, EXPIRE_MS]);
  }

  #end(args: readonly (string | number)[]): Promise<unknown> {
    return withTimeout(storeScript.run(this.redis.client, [this.key], args), this.redis.timeoutMs);
  }
}
