/** The limiter of many replicas: one sliding window for each caller, kept in Redis and on its clock. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type DayUsage, type Decision, type Limiter, type Quotas, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import { Breaker } from '../redis/breaker.js';
import type { RedisConnection } from '../redis/connection.js';
import { withTimeout } from '../util/with-timeout.js';
import { decideScript, readUsage } from './decide-script.js';
import { Callers, MOST_ADDRESSES } from './in-memory.js';
import { Lane, type LaneSubject } from './lane.js';
import { OwnUsage } from './own-usage.js';
import { shardKeys, shardOf } from './shard.js';
import { DAY_MS, dayOf, withQuotas } from './usage.js';

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
  /** Whether `take` is ever given quotas. Default false. */
  readonly countsUsage?: boolean;
  readonly clock?: Clock;
  readonly logger: Logger;
}

/**
 * How long a replica goes on alone after it has told Redis what it knows, where Redis may have lost its data: after a lost
 * connection, or when it was emptied. Meanwhile the other replicas connect again (`core/redis/connection.ts`), have their
 * probe answered (`breaker.ts`) or find it empty, and tell it too. Otherwise the first replica to ask would be given slots
 * that all of them have used up.
 */
const REJOIN_MS = 500;
/** How often a replica that has counted something within the window asks Redis whether it has lost data. */
const POLL_MS = REJOIN_MS / 2;

/** How long a caller waits for its usage. */
const READ_MS = 1000;

/** How long `close` waits for a Redis that is away or late: more than a lost call, a probe and the next call take. */
const CLOSE_MS = 2000;
const CLOSE_LOOK_MS = 5;

const randomNumber = (): number => randomBytes(4).readUInt32BE();

const AWAY: Record<AwayPolicy, string> = {
  local: 'The store of rate limits is away: each replica applies its share of them.',
  closed: 'The store of rate limits is away: limited requests are refused.',
  open: 'The store of rate limits is away: no limits are applied.',
};

/**
 * In no window does more than the limit pass: Redis counts each request before it passes, and drops it only when its
 * bucket has left the window (`decide.lua`), so that a slot comes back at most one bucket late: a second of sixty.
 *
 * What comes in one turn of the event loop is asked for by one call or two, whoever the callers are; who is asked for
 * often gets slots ahead (`lane.ts`). A caller over its limit is refused here until its next slot is due. Nothing depends
 * on the replica's clock being right: only spans of its monotonic one are used.
 */
export class RedisLimiter implements Limiter {
  readonly #redis: RedisConnection;
  readonly #replicas: number;
  readonly #whenAway: AwayPolicy;
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #lanes: readonly Lane[];
  readonly #subjects: Callers<LaneSubject>;
  /** Kept for a day after a caller's last request: as long as some of it may have to be told. */
  readonly #usages: Callers<OwnUsage>;
  readonly #breaker: Breaker;
  /** Where a call failed: the probe goes there. */
  #failed: Lane;
  readonly #polling: NodeJS.Timeout;
  #connectionLost = false;
  #rejoinsAt = Number.NEGATIVE_INFINITY;

  constructor({
    redis,
    replicas,
    whenAway = 'local',
    windowMs = WINDOW_MS,
    countsUsage = false,
    clock = systemClock,
    logger,
  }: RedisLimiterOptions) {
    this.#redis = redis;
    this.#replicas = replicas;
    this.#whenAway = whenAway;
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    const replica = randomNumber();
    const keys = shardKeys(redis.keyPrefix, redis.client.isCluster);
    const script = decideScript({ windowMs, countsUsage, mostAddresses: Math.ceil(MOST_ADDRESSES / keys.length) });
    this.#lanes = keys.map(
      (key) =>
        new Lane({
          target: { redis: redis.client, key, replica, windowMs, countsUsage, script },
          timeoutMs: redis.timeoutMs,
          clock,
          isAway: () => this.#breaker.open,
          onFailure: (lane, error) => {
            this.#failed = lane;
            this.#breaker.trip(error);
          },
          onLoss: () => void this.#rejoin(true),
          decideAlone: (subject) => this.#decideAlone(subject, clock.monotonic()),
        }),
    );
    this.#failed = this.#lanes[0] as Lane;
    this.#subjects = new Callers(windowMs, (name) => this.#laneOf(name).open(name));
    this.#usages = new Callers(DAY_MS, (name) => new OwnUsage(name, randomNumber(), this.#laneOf(name).shard.epoch));
    this.#breaker = new Breaker({
      name: 'limiter',
      // A write, since a replica of Redis that cannot count is of no use.
      probe: () => redis.client.set(`${this.#failed.key}:probe`, 1, 'PX', 1000),
      timeoutMs: redis.timeoutMs,
      onClose: () => {
        void this.#rejoin(this.#connectionLost);
        this.#connectionLost = false;
      },
      logger,
    });
    redis.client.on('close', this.#onConnectionLost);
    this.#polling = setInterval(() => {
      const now = this.#clock.monotonic();
      if (!this.#isAlone(now)) for (const lane of this.#lanes) lane.pollForLoss(now, POLL_MS);
    }, POLL_MS).unref();
  }

  take(name: string, limit: number, quotas?: Quotas): Decision | Promise<Decision> {
    const now = this.#clock.monotonic();
    const subject = this.#subjects.get(name, now);
    const { lane } = subject;
    if (limit !== subject.limit || quotas !== subject.quotas) lane.changeLimit(subject, limit, quotas);
    if (quotas) this.#countUsage(subject, now);
    if (now < subject.refusedUntil && subject.slots === 0) return lane.refuse(subject, now);
    return this.#isAlone(now) ? this.#decideAlone(subject, now) : lane.take(subject, now);
  }

  async usage(name: string): Promise<readonly DayUsage[]> {
    const { key } = this.#laneOf(name);
    try {
      return await withTimeout(readUsage({ redis: this.#redis.client, key }, name, this.#clock.now()), READ_MS);
    } catch (cause) {
      throw new LimiterUnavailable('The store of usage is away.', { cause });
    }
  }

  #countUsage(subject: LaneSubject, now: number): void {
    const usage = this.#usages.get(subject.name, now);
    if (usage !== subject.usage) subject.lane.shard.attach(subject, usage);
  }

  health(): Health {
    const alone = this.#isAlone(this.#clock.monotonic());
    return alone ? { ok: false, message: AWAY[this.#whenAway] } : { ok: true, message: null };
  }

  /**
   * Gives back slots that were not used, tells what Redis has not counted, again if a call was lost, for up to `CLOSE_MS`,
   * and leaves the connection to its owner.
   */
  async close(): Promise<void> {
    clearInterval(this.#polling);
    for (
      const until = this.#clock.monotonic() + CLOSE_MS;
      this.#clock.monotonic() < until;
      await delay(CLOSE_LOOK_MS)
    ) {
      // Each time anew: a call that was in flight may have brought slots.
      for (const lane of this.#lanes) lane.giveBackAll();
      if (!this.#hasNews()) break;
      this.#tellAll();
    }
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

  #decideAlone(subject: LaneSubject, now: number): Decision | Promise<never> {
    const { limit, quotas, usage, lane } = subject;
    if (this.#whenAway === 'closed') return Promise.reject(new LimiterUnavailable(AWAY.closed));
    const time = lane.redisTime(now);
    const today = dayOf(time);
    if (this.#whenAway === 'open') {
      usage?.passAlone(today);
      if (usage) lane.shard.doubt(subject);
      return withQuotas({ allowed: true, limit, remaining: limit, resetMs: 0 }, lane.quotas(subject, time));
    }
    const share = this.#shareOf(limit, now);
    const hasLeft = !usage || !quotas || usage.mayPassAlone(quotas, today, this.#replicas);
    const { allowed, remaining, resetMs } = subject.log.take(now, share.now, this.#windowMs, hasLeft);
    if (allowed) {
      usage?.passAlone(today);
      lane.shard.doubt(subject);
    } else usage?.refuse(today, 1);
    const waits = allowed ? resetMs : Math.max(resetMs, share.growsInMs);
    return withQuotas({ allowed, limit, remaining, resetMs: waits }, lane.quotas(subject, time));
  }

  /**
   * What this replica may let pass by itself. One that has just begun does not know what was counted before: by the
   * replica in whose place it stands, or in a Redis that was lost with it. So its share grows from nothing, evenly over
   * the first window: however often a replica is begun anew within a window, the shares there come to one at most.
   */
  #shareOf(limit: number, now: number): { readonly now: number; readonly growsInMs: number } {
    const whole = Math.max(1, Math.floor(limit / this.#replicas));
    const age = now - this.#startedAt;
    if (age >= this.#windowMs) return { now: whole, growsInMs: 0 };
    const grown = Math.floor((whole * age) / this.#windowMs);
    return { now: grown, growsInMs: ((grown + 1) * this.#windowMs) / whole - age };
  }

  async #rejoin(mayBeEmpty: boolean): Promise<void> {
    if (mayBeEmpty) {
      this.#rejoinsAt = this.#clock.monotonic() + REJOIN_MS;
      for (const lane of this.#lanes) {
        lane.shard.doubtAll();
        lane.decideWaitingAlone();
      }
    }
    this.#tellAll();
    if (!mayBeEmpty) return;
    await delay(REJOIN_MS, undefined, { ref: false });
    this.#tellAll();
  }

  /** Whether Redis counts something else than what this replica let pass, or may do so once calls in flight have ended. */
  #hasNews(): boolean {
    return (
      this.#lanes.some((lane) => lane.isBusy) ||
      this.#usages.values().some((usage) => !this.#laneOf(usage.name).shard.isCounted(usage)) ||
      this.#subjects.values().some((subject) => subject.lane.shard.hasNews(subject))
    );
  }

  /** Tells a Redis that has come back what this replica knows, also of subjects that nobody asks for now. */
  #tellAll(): void {
    const now = this.#clock.monotonic();
    for (const usage of this.#usages.values()) {
      if (!this.#laneOf(usage.name).shard.isCounted(usage)) this.#countUsage(this.#subjects.get(usage.name, now), now);
    }
    for (const subject of this.#subjects.values()) subject.lane.tell(subject);
  }
}
