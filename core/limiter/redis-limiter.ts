/** The limiter of many replicas: one sliding window for each subject, kept in Redis and on its clock. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay, setImmediate as endOfTurn } from 'node:timers/promises';
import { Breaker } from '../breaker.js';
import { type Decision, type Limiter, WINDOW_MS } from '../contracts/limiter.js';
import { type Clock, type Health, type Logger, systemClock } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import type { RedisConnection } from '../redis.js';
import { within } from '../within.js';
import { Generations } from './generations.js';
import { Lease, NO_LEASE, type NumberedGrant } from './lease.js';
import { Ledger } from './ledger.js';
import { SlidingLog } from './sliding-log.js';
import { callWindow, GRAINS, grainMs } from './window-script.js';

/** What happens to requests while Redis is away. */
export type AwayPolicy =
  /** Each replica keeps an exact window of its own, at the limit divided by the number of replicas. */
  | 'local'
  /** They are rejected with `LimiterUnavailable`. */
  | 'closed'
  /** They all pass, and are counted nowhere. */
  | 'open';

export interface RedisLimiterOptions {
  /** Keys are `<its prefix>{<subject>}:window`. A request waits for two calls at most: the one in flight, and its own. */
  readonly redis: RedisConnection;
  /** How many replicas share the limits, for the policy `local`. */
  readonly replicas: number;
  readonly whenAway?: AwayPolicy;
  readonly windowMs?: number;
  readonly clock?: Clock;
  readonly logger: Logger;
}

type Settle = (decision: Decision | Promise<never>) => void;

/** What this replica knows of a subject. */
interface Subject {
  limit: number;
  /** Requests that the next call will ask for. */
  waiting: Settle[];
  /** Whether a call is in flight. */
  busy: boolean;
  /** Redis would refuse until then at least, by the monotonic clock, under the limit that it refused. */
  refusedUntil: number;
  /** By then the next slot is surely due: later than `refusedUntil` by as long as the call took. */
  dueBy: number;
  refusedLimit: number;
  readonly lease: Lease;
  /** Gives back what is left of the lease when that is over and nobody asks. */
  timer: NodeJS.Timeout | undefined;
  /** This replica's own admissions: its window while Redis is away. */
  readonly log: SlidingLog;
  readonly ledger: Ledger;
}

/** A call that finds Redis elsewhere than expected counts nothing, and is made again with a report. */
const ATTEMPTS = 3;
/**
 * A Redis to which the connection was lost may be empty when it is back. Having told it what it knows, each replica
 * goes on alone for so long, in which the others have connected again (`core/redis.ts`), been answered a probe
 * (`breaker.ts`), and told it too. Else the first one back would hand out what all of them have used up.
 */
const REJOIN_MS = 500;
/** How many subjects are compared with Redis at once when it has come back. */
const RECONCILED_AT_ONCE = 64;

const AWAY: Record<AwayPolicy, string> = {
  local: 'The store of rate limits is away: each replica applies its share of them.',
  closed: 'The store of rate limits is away: limited requests are refused.',
  open: 'The store of rate limits is away: no limits are applied.',
};

/**
 * Exact up to a limit of 1,000: the list in Redis has every admission of the window (under-use: none; memory: at most
 * 15 bytes for each call that admitted, 9 KB at a limit of 600 used up one by one). Above, admissions are dated by the
 * end of their sixtieth of the window (never too many pass; a slot comes back up to one second late; 1 KB).
 *
 * There a replica that is asked often takes slots ahead, to be used within their sixtieth of the window, and gives back
 * what it has not used: so a call is needed a few times a second, however many requests come. Of what is left a replica
 * leases at most 1/64; that much may be missing to the others for the rest of the second.
 *
 * Requests for a subject that come in one turn of the event loop, or while a call for it is in flight, are asked for
 * together by the next one. A subject over its limit is refused here until its next slot is due. Nothing of this
 * depends on the replica's clock being right: only spans of its monotonic one are used.
 *
 * A call is never repeated blindly. It has a number, Redis keeps the last one that it applied, and `Ledger` tells from
 * it what was counted. So when Redis comes back, what was admitted alone is counted, once; and when it comes back
 * empty, the replicas' own records of the window fill it again.
 */
export class RedisLimiter implements Limiter {
  readonly #redis: RedisConnection;
  readonly #replicas: number;
  readonly #whenAway: AwayPolicy;
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #replica = randomBytes(6).toString('hex');
  readonly #subjects: Generations<Subject>;
  readonly #breaker: Breaker;
  /** The subject whose call failed: the probe goes where its key lives. */
  #failed = '';
  #connectionLost = false;
  #rejoinsAt = Number.NEGATIVE_INFINITY;
  #calls = 0;

  constructor(options: RedisLimiterOptions) {
    this.#redis = options.redis;
    this.#replicas = options.replicas;
    this.#whenAway = options.whenAway ?? 'local';
    this.#windowMs = options.windowMs ?? WINDOW_MS;
    this.#clock = options.clock ?? systemClock;
    this.#subjects = new Generations(this.#windowMs, () => this.#newSubject());
    this.#breaker = new Breaker({
      name: 'limiter',
      // A write, since a replica of Redis that cannot count is of no use.
      probe: () => this.#redis.client.set(this.#key(this.#failed, 'probe'), 1, 'PX', 1000),
      timeoutMs: this.#redis.timeoutMs,
      onClose: () => void this.#rejoin(),
      logger: options.logger,
    });
    this.#redis.client.on('close', this.#onConnectionLost);
  }

  take(name: string, limit: number): Decision | Promise<Decision> {
    const now = this.#clock.monotonic();
    const subject = this.#subjects.get(name, now);
    if (now < subject.refusedUntil && limit === subject.refusedLimit) return refusal(subject, now);
    subject.limit = limit;
    if (this.#isAlone(now)) return this.#decideAlone(subject, now);
    const leased = this.#takeLeased(subject, now);
    if (leased) return leased;
    return new Promise((settle) => {
      subject.waiting.push(settle as Settle);
      if (!subject.busy) void this.#work(name, subject);
    });
  }

  health(): Health {
    const alone = this.#isAlone(this.#clock.monotonic());
    return alone ? { ok: false, message: AWAY[this.#whenAway] } : { ok: true, message: null };
  }

  /** Gives back what is leased, and leaves the connection, which is its owner's, open. */
  async close(): Promise<void> {
    const leases = this.#subjects.entries().filter(([, { lease }]) => lease.left > 0);
    await Promise.all(leases.map(([name, subject]) => this.#giveBack(name, subject)));
    this.#redis.client.off('close', this.#onConnectionLost);
    this.#breaker.dispose();
  }

  #isAlone(now: number): boolean {
    return this.#breaker.open || now < this.#rejoinsAt;
  }

  readonly #onConnectionLost = () => {
    this.#connectionLost = true;
    this.#breaker.trip(new Error('The connection to Redis was lost.'));
  };

  /** Makes calls, one at a time, as long as requests wait. */
  async #work(name: string, subject: Subject): Promise<void> {
    subject.busy = true;
    do {
      await endOfTurn();
      const batch = subject.waiting;
      subject.waiting = [];
      if (this.#breaker.open) this.#settleAlone(subject, batch);
      else await this.#decideTogether(name, subject, batch);
    } while (subject.waiting.length > 0);
    subject.busy = false;
  }

  async #decideTogether(name: string, subject: Subject, batch: readonly Settle[]): Promise<void> {
    const { limit, ledger, lease } = subject;
    const sent = this.#clock.monotonic();
    const grain = grainMs(limit, this.#windowMs);
    const ahead = batch.length > 0 ? lease.ahead(sent, grain) : 0;
    let unused = lease.end();
    let call = 0;
    let last: number | undefined;
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        call = ++this.#calls;
        const reply = await within(
          callWindow(this.#redis.client, {
            key: this.#key(name, 'window'),
            asked: batch.length,
            limit,
            windowMs: this.#windowMs,
            replica: this.#replica,
            call,
            expected: last ?? ledger.expected(sent),
            ahead,
            unused,
            reports: ledger.report(call, sent, last),
          }),
          sent + this.#redis.timeoutMs - this.#clock.monotonic(),
        );
        if (reply.granted) {
          this.#settle(subject, batch, { ...reply.granted, call, sent, limit });
          this.#giveBackLater(name, subject);
          return;
        }
        last = reply.last;
        // A Redis that has lost admissions has lost the lease with them.
        unused = NO_LEASE;
        if (last >= call) break;
      }
      throw new Error('Redis does not keep what it has counted.');
    } catch (error) {
      this.#failed = name;
      this.#breaker.trip(error);
      this.#settleAlone(subject, batch, call);
      // They have waited long enough; nothing was asked for them.
      this.#settleAlone(subject, subject.waiting.splice(0));
    }
  }

  #settle(subject: Subject, batch: readonly Settle[], granted: NumberedGrant): void {
    const { call, sent, limit, admitted, resetMs, leased, leaseMs } = granted;
    const remaining = granted.remaining + leased.count;
    const now = this.#clock.monotonic();
    subject.ledger.settle(call);
    subject.ledger.add(call, now, admitted);
    subject.log.add(now, admitted, limit, this.#windowMs);
    subject.lease.start(granted);
    const passed: Decision = { allowed: true, limit, remaining, resetMs };
    for (let i = 0; i < admitted; i++) (batch[i] as Settle)(passed);
    if (remaining > 0) {
      this.#settleLeased(subject, now);
      return;
    }
    // When Redis looked at its clock is only known to lie within the call. Counted from before it, nobody is refused
    // here who would pass; counted from after it, nobody who waits as long as told is refused again. What others have
    // leased may come back sooner: at the end of the grain.
    subject.refusedUntil = sent + (leaseMs > 0 ? Math.min(resetMs, leaseMs) : resetMs);
    subject.dueBy = now + resetMs;
    subject.refusedLimit = limit;
    const refused: Decision = { allowed: false, limit, remaining: 0, resetMs };
    for (let i = admitted; i < batch.length; i++) (batch[i] as Settle)(refused);
    if (subject.limit !== limit || now >= subject.refusedUntil) return;
    for (const settle of subject.waiting.splice(0)) settle(refusal(subject, now));
  }

  /** Whoever came while the call was in flight, and need not wait for another. */
  #settleLeased(subject: Subject, now: number): void {
    const { waiting } = subject;
    let served = 0;
    for (; served < waiting.length; served++) {
      const decision = this.#takeLeased(subject, now);
      if (!decision) break;
      (waiting[served] as Settle)(decision);
    }
    waiting.splice(0, served);
  }

  #takeLeased({ lease, limit, log, ledger }: Subject, now: number): Decision | undefined {
    const decision = lease.take(now, limit);
    if (decision) {
      log.add(now, 1, limit, this.#windowMs);
      ledger.add(lease.call, now, 1);
    }
    return decision;
  }

  #giveBackLater(name: string, subject: Subject): void {
    const { lease } = subject;
    if (lease.left === 0 || subject.timer) return;
    // Node 24 and later warn of a negative delay, which a lease has that ended during a slow call.
    const ms = Math.max(0, lease.until - this.#clock.monotonic());
    subject.timer = setTimeout(() => {
      subject.timer = undefined;
      if (lease.left === 0) return;
      if (this.#clock.monotonic() < lease.until) this.#giveBackLater(name, subject);
      else void this.#giveBack(name, subject);
    }, ms).unref();
  }

  async #giveBack(name: string, subject: Subject): Promise<void> {
    if (!subject.busy && !this.#breaker.open) await this.#work(name, subject);
  }

  /** @param call the one that may have counted the requests already */
  #settleAlone(subject: Subject, batch: readonly Settle[], call?: number): void {
    const now = this.#clock.monotonic();
    for (const settle of batch) settle(this.#decideAlone(subject, now, call));
  }

  #decideAlone(subject: Subject, now: number, call?: number): Decision | Promise<never> {
    const { limit } = subject;
    if (this.#whenAway === 'closed') return Promise.reject(new LimiterUnavailable(AWAY.closed));
    if (this.#whenAway === 'open') return { allowed: true, limit, remaining: limit, resetMs: 0 };
    const share = Math.max(1, Math.floor(limit / this.#replicas));
    const decision = subject.log.take(now, share, this.#windowMs);
    if (decision.allowed) {
      if (call === undefined) subject.ledger.addPending(now, 1);
      else subject.ledger.add(call, now, 1);
    }
    return { ...decision, limit };
  }

  async #rejoin(): Promise<void> {
    const mayBeEmpty = this.#connectionLost;
    this.#connectionLost = false;
    if (mayBeEmpty) this.#rejoinsAt = this.#clock.monotonic() + REJOIN_MS;
    await this.#reconcile();
    if (!mayBeEmpty) return;
    await delay(REJOIN_MS, undefined, { ref: false });
    await this.#reconcile();
  }

  /** Tells a Redis that has come back what this replica knows, also of subjects that nobody asks for now. */
  async #reconcile(): Promise<void> {
    const now = this.#clock.monotonic();
    const open = this.#subjects.entries().filter(([, { ledger, busy }]) => !busy && !ledger.isEmpty(now));
    while (open.length > 0 && !this.#breaker.open) {
      const some = open.splice(0, RECONCILED_AT_ONCE).filter(([, { busy }]) => !busy);
      await Promise.all(some.map(([name, subject]) => this.#work(name, subject)));
    }
  }

  /** The hash tag keeps all of a subject in one slot of a cluster. */
  #key(subject: string, what: string): string {
    return `${this.#redis.keyPrefix}{${subject}}:${what}`;
  }

  #newSubject(): Subject {
    return {
      limit: 0,
      waiting: [],
      busy: false,
      refusedUntil: 0,
      dueBy: 0,
      refusedLimit: 0,
      lease: new Lease(),
      timer: undefined,
      log: new SlidingLog(),
      ledger: new Ledger(this.#windowMs, this.#windowMs / GRAINS),
    };
  }
}

const refusal = ({ refusedLimit, dueBy }: Subject, now: number): Decision => ({
  allowed: false,
  limit: refusedLimit,
  remaining: 0,
  resetMs: dueBy - now,
});
