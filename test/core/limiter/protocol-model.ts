/** Models two replicas and Redis, with the events that can occur and the invariants that must hold. */
import { CallerState, type Entry, type PrefetchedPermits } from '../../../core/limiter/caller.js';
import type { Call, Reply } from '../../../core/limiter/calls.js';
import { addPrefetched, returnPrefetched, usePrefetched } from '../../../core/limiter/decisions.js';
import { dayOfBucket } from '../../../core/limiter/quotas.js';
import { PartitionSync } from '../../../core/limiter/resync.js';
import { UsageCounter } from '../../../core/limiter/usage.js';
import { SlidingWindow } from '../../../core/limiter/window.js';
import { ModelRedis, type RedisBug, sum } from './decide-model.js';

const CALLER = 'key:a';
const LIMIT = 3;
const REPLICAS = [0, 1] as const;
const SHARE = Math.floor(LIMIT / REPLICAS.length);
const CALLS_IN_FLIGHT = 2;
const EPOCH_US = 5e12;
const DAY = dayOfBucket(EPOCH_US);
const WINDOW_MS = 60;
const BUCKET_MS = 1;
/** Each action of a run takes this time. */
const TICK_MS = 1 / 8;
const TIMEOUT_MS = 7 / 8;
const HALF_WINDOW_MS = WINDOW_MS / 2 - 4 * TICK_MS;
const ATTEMPTS = 6;

/** Bugs of a replica that the invariants must detect. */
type ReplicaBug =
  | 'resyncs while a call is in flight'
  | 'does not resync after a lost reply'
  | 'does not resync after a local decision'
  | 'keeps its id when it restarts'
  | 'uses prefetched permits after their bucket ended'
  | 'returns permits that were used';
export type Bug = RedisBug | ReplicaBug;

/** What happens to the call that a request triggers. A later action can lose or deliver a call in flight. */
type Fate = 'answered' | 'in flight' | 'lost' | 'reply lost';

type Action =
  | readonly ['ask', number, Fate]
  /**
   * `arrive`: the calls of the replica reach Redis. `deliver`: the replies reach the replica. `time out`: the oldest
   * call times out.
   */
  | readonly ['arrive' | 'deliver' | 'time out', number]
  /**
   * `restart`: the replica restarts. `decide locally`: the replica decides without Redis, because a call for another
   * caller failed.
   */
  | readonly ['restart' | 'decide locally', number]
  /** `late`: calls arrive after their timeout, possibly for the second time. `heal`: Redis is reachable again. */
  | readonly ['late' | 'heal']
  | readonly ['redis is emptied' | 'redis loses the last call']
  | readonly ['half bucket' | 'half window' | 'return'];

export type Run = readonly Action[];

const actionsWith = (...more: Action[]): readonly Action[] => [
  ...REPLICAS.flatMap((replica) => [
    ...(['answered', 'in flight', 'lost', 'reply lost'] as const).map((fate): Action => ['ask', replica, fate]),
    ...(['arrive', 'deliver', 'time out', 'restart', 'decide locally'] as const).map((kind): Action => [kind, replica]),
  ]),
  ...(['late', 'heal', 'redis is emptied', 'redis loses the last call', 'half window'] as const).map(
    (kind): Action => [kind],
  ),
  ...more,
];

export interface World {
  readonly requests: number;
  readonly prefetch: number;
  readonly countsUsage: boolean;
  readonly actions: readonly Action[];
}

const WITH_BUCKETS = actionsWith(['half bucket'], ['return']);

export const WORLDS = {
  'two requests': { requests: 2, prefetch: 0, countsUsage: false, actions: actionsWith() },
  'one request and a prefetched permit': { requests: 1, prefetch: 1, countsUsage: false, actions: WITH_BUCKETS },
  'one request and a prefetched permit, with usage': {
    requests: 1,
    prefetch: 1,
    countsUsage: true,
    actions: WITH_BUCKETS,
  },
} as const satisfies Record<string, World>;

interface Allowed {
  readonly at: number;
  readonly by: number;
  readonly granted: boolean;
}

interface Sent {
  readonly call: Call;
  readonly batch: readonly Entry[];
  readonly waiting: number;
  readonly at: number;
  reply?: { readonly reply: Reply; readonly at: number };
}

/** Chai is too slow for a check that runs millions of times. */
const check = (holds: boolean, message: string): void => {
  if (!holds) throw new Error(message);
};

class Replica {
  readonly window = new SlidingWindow(WINDOW_MS, BUCKET_MS);
  readonly sync: PartitionSync;
  readonly caller: CallerState;
  readonly usage: UsageCounter | undefined;
  readonly inFlight: Sent[] = [];
  isLocal = false;
  #waiting = 0;
  #isQueued = false;

  constructor(
    readonly id: number,
    readonly history: History,
  ) {
    const { countsUsage } = history.world;
    this.sync = new PartitionSync(countsUsage ? Number.POSITIVE_INFINITY : WINDOW_MS + BUCKET_MS);
    this.caller = new CallerState(CALLER, this.window, this.sync.epoch);
    if (countsUsage) this.usage = new UsageCounter(id);
    this.caller.usage = this.usage;
  }

  get #now(): number {
    return this.history.now;
  }

  get hasExpiredPermits(): boolean {
    const { prefetched } = this.caller;
    return prefetched !== undefined && this.#now >= prefetched.expiresAt;
  }

  take(): boolean {
    const { world, bug } = this.history;
    for (let i = 0; i < world.requests; i++) {
      const mayUse = !this.hasExpiredPermits || bug === 'uses prefetched permits after their bucket ended';
      if (this.isLocal) this.#decideLocally();
      else if (this.caller.prefetched && mayUse) this.#usePermit(this.caller.prefetched);
      else {
        returnPrefetched(this.caller);
        this.#waiting++;
        this.#isQueued = true;
      }
    }
    return this.#send();
  }

  report(): void {
    this.#isQueued = true;
    this.#send();
  }

  poll(): boolean {
    const isBusy = this.#isQueued || this.inFlight.length > 0;
    if (this.isLocal || isBusy || !this.sync.mayHaveLostData(this.#now, 0)) return false;
    this.inFlight.push({ call: this.sync.nextCall([], this.#now), batch: [], waiting: 0, at: this.#now });
    return true;
  }

  returnPermits(): void {
    returnPrefetched(this.caller);
    if (!this.isLocal && this.sync.needsCall(this.caller)) this.report();
  }

  heal(): void {
    this.isLocal = false;
    if (this.sync.needsCall(this.caller)) this.report();
  }

  #send(): boolean {
    const { sync, caller } = this;
    const { bug, world } = this.history;
    const canSend = sync.canSend || bug === 'resyncs while a call is in flight';
    if (this.isLocal || !this.#isQueued || !canSend || sync.inFlight >= CALLS_IN_FLIGHT) return false;
    const waiting = this.#waiting;
    const permits = waiting > 0 ? waiting + world.prefetch : 0;
    const batch = [{ caller, limit: LIMIT, permits, waiting: [] }] as const;
    const call = sync.nextCall(batch, this.#now);
    this.#waiting = 0;
    this.#isQueued = false;
    this.inFlight.push({ call, batch, waiting, at: this.#now });
    return true;
  }

  receive(): void {
    const sent = this.inFlight.shift() as Sent;
    const { reply, at } = sent.reply as NonNullable<Sent['reply']>;
    this.sync.receive(sent.call, reply);
    if (reply.applied) {
      const { bucketEnd, bucketMs, grants } = reply;
      const permits = grants[0]?.permits ?? 0;
      const allowed = Math.min(permits, sent.waiting);
      this.window.add(this.#now, allowed, LIMIT);
      this.usage?.addGranted(dayOfBucket(bucketEnd), allowed);
      for (let i = 0; i < allowed; i++) this.history.allowed.push({ at, by: this.id, granted: true });
      const count = permits - allowed;
      if (count > 0) addPrefetched(this.caller, { count, bucketEnd, expiresAt: sent.at + bucketMs });
      while (this.#waiting > 0 && this.caller.prefetched && !this.hasExpiredPermits) {
        this.#waiting--;
        this.#usePermit(this.caller.prefetched);
      }
    } else {
      this.#waiting += sent.waiting;
      this.#isQueued = true;
    }
    this.#send();
  }

  lose(sent: Sent): void {
    this.inFlight.splice(this.inFlight.indexOf(sent), 1);
    this.history.lost.push({ id: this.id, sent });
    this.sync.lose(this.history.bug === 'does not resync after a lost reply' ? [] : sent.batch);
    this.isLocal = true;
    for (let i = sent.waiting + this.#waiting; i > 0; i--) this.#decideLocally();
    this.#waiting = 0;
  }

  #decideLocally(): void {
    if (!this.window.take(this.#now, SHARE).allowed) return;
    if (this.history.bug !== 'does not resync after a local decision') this.sync.requireResync(this.caller);
    this.usage?.addLocal(DAY);
    this.history.allowed.push({ at: this.#now, by: this.id, granted: false });
  }

  #usePermit(prefetched: PrefetchedPermits): void {
    const { bucketEnd } = prefetched;
    usePrefetched(this.caller, prefetched);
    if (this.history.bug === 'returns permits that were used') {
      this.caller.returned = [...this.caller.returned, { bucketEnd, count: 1 }];
    }
    this.window.add(this.#now, 1, LIMIT);
    this.usage?.addGranted(DAY, 1);
    this.history.allowed.push({ at: this.#now, by: this.id, granted: true });
  }
}

class History {
  now = 1000.5;
  readonly allowed: Allowed[] = [];
  /** Calls that timed out. Each can arrive at any time within a window, even twice. */
  readonly lost: { readonly id: number; readonly sent: Sent }[] = [];
  #redis: ModelRedis;
  #earlier: ModelRedis[] = [];
  readonly #replicas: Replica[];
  #hasLostData = false;
  #starts = 0;

  constructor(
    readonly world: World,
    readonly bug?: Bug,
  ) {
    this.#redis = this.#emptyRedis();
    this.#replicas = REPLICAS.map((replica) => this.#start(replica));
  }

  #emptyRedis(): ModelRedis {
    return new ModelRedis({ windowMs: WINDOW_MS, bug: this.bug as RedisBug });
  }

  #start(replica: number): Replica {
    return new Replica(this.bug === 'keeps its id when it restarts' ? replica : this.#starts++, this);
  }

  /**
   * The clock of Redis is offset by four ticks, so that its buckets start at other times than the buckets of replicas.
   */
  #micros(ms = this.now): number {
    return EPOCH_US + (ms + 4 * TICK_MS) * 1000;
  }

  act(action: Action): boolean {
    this.#pass(TICK_MS);
    const isDone = this.#act(action);
    this.#checkAllowed();
    return isDone;
  }

  #pass(ms: number): void {
    this.now += ms;
    for (const replica of this.#replicas) {
      for (const sent of replica.inFlight.filter(({ at }) => this.now - at > TIMEOUT_MS)) replica.lose(sent);
    }
  }

  #act([kind, which = 0, fate = 'answered']: Action): boolean {
    const replica = this.#replicas[which] as Replica;
    const oldest = replica.inFlight[0];
    switch (kind) {
      case 'ask': {
        if (!replica.take()) return fate === 'answered';
        if (fate === 'answered') this.#deliver(replica);
        if (fate === 'reply lost') this.#arrive(replica);
        if (fate === 'reply lost' || fate === 'lost') replica.lose(replica.inFlight.at(-1) as Sent);
        return true;
      }
      case 'arrive':
        return this.#arrive(replica);
      case 'deliver':
        return this.#deliver(replica);
      case 'time out':
        if (oldest) replica.lose(oldest);
        return oldest !== undefined;
      case 'restart':
        for (const sent of replica.inFlight) this.lost.push({ id: replica.id, sent });
        this.#replicas[which] = this.#start(which);
        return true;
      case 'decide locally':
        if (replica.isLocal) return false;
        replica.isLocal = true;
        return true;
      case 'late':
        while (this.lost[0] && this.now - this.lost[0].sent.at >= WINDOW_MS) this.lost.shift();
        for (const { id, sent } of this.lost) this.#apply(id, sent.call);
        return this.lost.length > 0;
      case 'heal': {
        const local = this.#replicas.filter(({ isLocal }) => isLocal);
        for (const each of local) each.heal();
        return local.length > 0;
      }
      case 'redis is emptied':
        return this.#loseData(this.#emptyRedis());
      case 'redis loses the last call':
        return this.#loseData(this.#earlier.pop());
      case 'half bucket':
        this.#pass(BUCKET_MS / 2);
        return true;
      case 'half window':
        // Real replicas poll frequently. In the model, each replica polls once, halfway through this action.
        this.#pass(HALF_WINDOW_MS / 2);
        for (const each of this.#replicas) if (each.poll()) this.#deliver(each);
        this.#pass(HALF_WINDOW_MS / 2);
        return true;
      case 'return': {
        const expired = this.#replicas.filter(({ hasExpiredPermits }) => hasExpiredPermits);
        for (const each of expired) each.returnPermits();
        return expired.length > 0;
      }
    }
  }

  #loseData(earlier: ModelRedis | undefined): boolean {
    if (!earlier || this.#redis.calls.size === 0) return false;
    this.#redis = earlier;
    this.#hasLostData = true;
    return true;
  }

  #arrive(replica: Replica): boolean {
    const arriving = replica.inFlight.filter(({ reply }) => !reply);
    for (const sent of arriving) sent.reply = { reply: this.#apply(replica.id, sent.call), at: this.now };
    return arriving.length > 0;
  }

  #deliver(replica: Replica): boolean {
    const isDone = replica.inFlight.length > 0;
    for (let i = 0; replica.inFlight.length > 0; i++) {
      check(i < ATTEMPTS, 'too many calls');
      this.#arrive(replica);
      replica.receive();
    }
    return isDone;
  }

  #apply(id: number, call: Call): Reply {
    const before = this.#redis.clone();
    const reply = this.#redis.decide(this.#micros(), id, call);
    if (reply.applied) this.#earlier.push(before);
    return reply;
  }

  /** Redis must never grant more than the limit in a window, unless it lost data. */
  #checkAllowed(): void {
    if (this.#hasLostData) return;
    const times = this.allowed.filter(({ granted }) => granted).map(({ at }) => at);
    times.sort((a, b) => a - b);
    for (const [i, at] of times.entries()) {
      check((times[i + LIMIT] ?? Number.POSITIVE_INFINITY) - at >= WINDOW_MS, 'more allowed than the limit');
    }
  }

  #counted(at: number, id: number): number {
    const micros = this.#micros(at);
    return sum(this.#redis.counted(CALLER, micros).filter(({ replica }) => replica === id));
  }

  #countedAll(at: number): number {
    return sum(this.#redis.counted(CALLER, this.#micros(at)));
  }

  /** After all outages, Redis must count each allowed request exactly once while it is in the window. */
  settle(): void {
    this.act(['heal']);
    for (let round = 0; round < 2; round++) {
      for (const replica of this.#replicas) {
        this.#deliver(replica);
        replica.returnPermits();
        this.#deliver(replica);
        replica.report();
        this.#deliver(replica);
      }
      this.act(['late']);
    }
    this.#checkCounted();
    const room = Math.max(0, LIMIT - this.#countedAll(this.now));
    const before = this.allowed.length;
    const most = Math.max(LIMIT, this.#allowedOfRunning());
    for (let i = 0; i < LIMIT; i++) {
      for (const replica of this.#replicas) {
        replica.take();
        this.#deliver(replica);
      }
    }
    // The remaining capacity can be larger than `room`. A granted request leaves the window only at the end of its
    // bucket, but a resynced request leaves it at its exact time.
    check(this.allowed.length - before >= room, 'fewer allowed than were left');
    check(this.#allowedOfRunning() <= most, 'more allowed than were left');
    this.#checkCounted();
    check(this.#countedAll(this.now + WINDOW_MS + 2 * BUCKET_MS) === 0, 'a request never leaves the window');
  }

  #allowedOfRunning(): number {
    const isRunning = (id: number) => this.#replicas.some((replica) => replica.id === id);
    return this.allowed.filter(({ at, by }) => at + WINDOW_MS > this.now && isRunning(by)).length;
  }

  /**
   * The usage of a running replica must be exact. The usage of a stopped replica must include at least the requests
   * that Redis granted.
   */
  #checkUsage(): void {
    for (const { id, caller } of this.#replicas) {
      const unused = [caller.prefetched, ...caller.returned].reduce((total, each) => total + (each?.count ?? 0), 0);
      const allowed = this.allowed.filter(({ by }) => by === id).length;
      check(this.#redis.usedBy(CALLER, DAY, id) === allowed + unused, 'usage differs from the allowed requests');
    }
    if (this.#hasLostData) return;
    for (const id of new Set(this.allowed.map(({ by }) => by))) {
      const granted = this.allowed.filter((each) => each.by === id && each.granted).length;
      check(this.#redis.usedBy(CALLER, DAY, id) >= granted, 'usage lacks a request');
    }
  }

  #checkCounted(): void {
    if (this.world.countsUsage) this.#checkUsage();
    const running = new Set(this.#replicas.map(({ id }) => id));
    for (const id of new Set(this.allowed.map(({ by }) => by))) {
      const own = this.allowed.filter(
        ({ by, granted }) => by === id && (running.has(id) || (granted && !this.#hasLostData)),
      );
      for (const { at } of own) {
        const moment = Math.max(this.now, at + WINDOW_MS - TICK_MS);
        const inWindow = own.filter((each) => each.at + WINDOW_MS > moment).length;
        check(this.#counted(moment, id) >= inWindow, 'a request was not counted, or not long enough');
      }
      if (!running.has(id)) continue;
      // A replica records the time of the reply. Redis can therefore count a request for two more buckets and two more
      // timeouts than the window.
      const latest = this.now - WINDOW_MS - 2 * BUCKET_MS - 2 * TIMEOUT_MS;
      const atMost = own.filter(({ at }) => at > latest).length;
      check(this.#counted(this.now, id) <= atMost, 'a request was counted twice');
    }
  }
}

/** Throws if an invariant is violated. Returns whether the last action changed anything. */
export const run = (world: World, actions: Run, bug?: Bug): boolean => {
  const history = new History(world, bug);
  let isDone = true;
  for (const action of actions) isDone = history.act(action);
  history.settle();
  return isDone;
};

/**
 * Only runs that start with a request to the first replica are tried. Replicas do nothing before the first request, and
 * it makes no difference which replica receives it.
 */
const isFirst = ([kind, replica]: Action): boolean => kind === 'ask' && replica === 0;

/** Tries every run of up to `depth` actions, shortest runs first. Returns the first run that violates an invariant. */
export const search = (world: World, depth: number, bug?: Bug): { run: Run; error: unknown } | undefined => {
  let runs: Run[] = world.actions.filter(isFirst).map((action) => [action]);
  for (let length = 1; length <= depth; length++) {
    const longer: Run[] = [];
    for (const actions of runs) {
      try {
        if (run(world, actions, bug) && length < depth)
          longer.push(...world.actions.map((action) => [...actions, action]));
      } catch (error) {
        return { run: actions, error };
      }
    }
    runs = longer;
  }
  return undefined;
};
