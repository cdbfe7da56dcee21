/** The limiter of many replicas: one sliding window for each caller, kept in Redis and on its clock. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Breaker } from '../breaker.js';
import { type Decision, type Limiter, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import type { RedisConnection } from '../redis.js';
import { Generations } from './generations.js';
import { Lane, type Subject } from './lane.js';
import { shardKeys, shardOf } from './shard.js';

/** What happens to requests while Redis is away. */
export type AwayPolicy =
  /** Each replica keeps a window of its own, at the limit divided by the number of replicas. */
  | 'local'
  /** They are rejected with `LimiterUnavailable`. */
  | 'closed'
  /** They all pass, and are counted nowhere. */
  | 'open';

export interface RedisLimiterOptions {
  /** Keys are those of `shardKeys`. */
  readonly redis: RedisConnection;
  /** How many replicas share the limits, for the policy `local`. */
  readonly replicas: number;
  readonly whenAway?: AwayPolicy;
  readonly windowMs?: number;
  readonly clock?: Clock;
  readonly logger: Logger;
}

/**
 * A Redis to which the connection was lost may be empty when it is back. Having told it what it knows, each replica
 * goes on alone for so long, in which the others have connected again (`core/redis.ts`), been answered a probe
 * (`breaker.ts`), and told it too. Else the first one back would hand out what all of them have used up.
 */
const REJOIN_MS = 500;

const AWAY: Record<AwayPolicy, string> = {
  local: 'The store of rate limits is away: each replica applies its share of them.',
  closed: 'The store of rate limits is away: limited requests are refused.',
  open: 'The store of rate limits is away: no limits are applied.',
};

/**
 * In no window does more than the limit pass: Redis counts each request before it passes, and drops it only when its
 * bucket has left the window (`decide.lua`). Up to a limit of `EXACT_UP_TO` a slot comes back at once, above it at most
 * one bucket late: a second of sixty.
 *
 * What comes in one turn of the event loop is asked for by one call, whoever the callers are; who is asked for often
 * gets slots ahead (`lane.ts`). A caller over its limit is refused here until its next slot is due. Nothing depends on
 * the replica's clock being right: only spans of its monotonic one are used.
 */
export class RedisLimiter implements Limiter {
  readonly #redis: RedisConnection;
  readonly #replicas: number;
  readonly #whenAway: AwayPolicy;
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #lanes: readonly Lane[];
  readonly #subjects: Generations<Subject>;
  readonly #breaker: Breaker;
  /** Where a call failed: the probe goes there. */
  #failed: Lane;
  #connectionLost = false;
  #rejoinsAt = Number.NEGATIVE_INFINITY;

  constructor({
    redis,
    replicas,
    whenAway = 'local',
    windowMs = WINDOW_MS,
    clock = systemClock,
    logger,
  }: RedisLimiterOptions) {
    this.#redis = redis;
    this.#replicas = replicas;
    this.#whenAway = whenAway;
    this.#windowMs = windowMs;
    this.#clock = clock;
    const replica = randomBytes(4).readUInt32BE();
    this.#lanes = shardKeys(redis.keyPrefix, redis.client.isCluster).map(
      (key) =>
        new Lane({
          target: { redis: redis.client, key, replica, windowMs },
          timeoutMs: redis.timeoutMs,
          clock,
          isAway: () => this.#breaker.open,
          onFailure: (lane, error) => {
            this.#failed = lane;
            this.#breaker.trip(error);
          },
          onLoss: () => this.#tellAll(),
          decideAlone: (subject) => this.#decideAlone(subject, clock.monotonic()),
        }),
    );
    this.#failed = this.#lanes[0] as Lane;
    this.#subjects = new Generations(windowMs, (name) => this.#laneOf(name).open(name));
    this.#breaker = new Breaker({
      name: 'limiter',
      // A write, since a replica of Redis that cannot count is of no use.
      probe: () => redis.client.set(`${this.#failed.key}:probe`, 1, 'PX', 1000),
      timeoutMs: redis.timeoutMs,
      onClose: () => void this.#rejoin(),
      logger,
    });
    redis.client.on('close', this.#onConnectionLost);
  }

  take(name: string, limit: number): Decision | Promise<Decision> {
    const now = this.#clock.monotonic();
    const subject = this.#subjects.get(name, now);
    if (limit !== subject.limit) subject.lane.changeLimit(subject, limit);
    if (now < subject.refusedUntil && subject.account.slots === 0)
      return { allowed: false, limit, remaining: 0, resetMs: subject.dueBy - now };
    return this.#isAlone(now) ? this.#decideAlone(subject, now) : subject.lane.take(subject, now);
  }

  health(): Health {
    const alone = this.#isAlone(this.#clock.monotonic());
    return alone ? { ok: false, message: AWAY[this.#whenAway] } : { ok: true, message: null };
  }

  /** Gives back slots that were not used, and leaves the connection, which is its owner's, open. */
  async close(): Promise<void> {
    for (const lane of this.#lanes) lane.giveBackAll();
    while (this.#lanes.some((lane) => lane.isBusy) && !this.#breaker.open) await delay(1);
    this.#redis.client.off('close', this.#onConnectionLost);
    this.#breaker.dispose();
  }

  #laneOf(name: string): Lane {
    return this.#lanes[shardOf(name, this.#lanes.length)] as Lane;
  }

  #isAlone(now: number): boolean {
    return this.#breaker.open || now < this.#rejoinsAt;
  }

  readonly #onConnectionLost = () => {
    this.#connectionLost = true;
    this.#breaker.trip(new Error('The connection to Redis was lost.'));
  };

  #decideAlone(subject: Subject, now: number): Decision | Promise<never> {
    const { limit, account, lane } = subject;
    if (this.#whenAway === 'closed') return Promise.reject(new LimiterUnavailable(AWAY.closed));
    if (this.#whenAway === 'open') return { allowed: true, limit, remaining: limit, resetMs: 0 };
    const share = Math.max(1, Math.floor(limit / this.#replicas));
    const decision = account.log.take(now, share, this.#windowMs);
    if (decision.allowed) lane.doubt(subject);
    return { ...decision, limit };
  }

  async #rejoin(): Promise<void> {
    const mayBeEmpty = this.#connectionLost;
    this.#connectionLost = false;
    if (mayBeEmpty) {
      this.#rejoinsAt = this.#clock.monotonic() + REJOIN_MS;
      for (const lane of this.#lanes) lane.doubtAll();
    }
    this.#tellAll();
    if (!mayBeEmpty) return;
    await delay(REJOIN_MS, undefined, { ref: false });
    this.#tellAll();
  }

  /** Tells a Redis that has come back what this replica knows, also of subjects that nobody asks for now. */
  #tellAll(): void {
    for (const subject of this.#subjects.values()) subject.lane.tell(subject);
  }
}
