/** Runs of the limiter's protocol: what may happen to two replicas, the network and Redis, and what must hold. */
import { type Call, dayOfBucket, type Reply } from '../../../core/limiter/decide-script.js';
import { SlidingLog } from '../../../core/limiter/in-memory.js';
import { OwnUsage } from '../../../core/limiter/own-usage.js';
import { type Asking, Shard, Subject } from '../../../core/limiter/shard.js';
import { ModelRedis, type RedisFault, sum } from './decide-model.js';

const SUBJECT = 'key:a';
const LIMIT = 3;
const REPLICAS = [0, 1] as const;
const SHARE = Math.floor(LIMIT / REPLICAS.length);
const CALLS_IN_FLIGHT = 2;
/** When runs begin by Redis's clock, and the day that they are on. */
const EPOCH_US = 5e12;
const DAY = dayOfBucket(EPOCH_US);
const WINDOW_MS = 60;
const BUCKET_MS = 1;
/** Each action takes so long; a call takes less than a bucket. */
const TICK_MS = 1 / 8;
const TIMEOUT_MS = 7 / 8;
/** Two of these are almost a window: what happens a few actions apart can leave it on both sides of an action. */
const HALF_WINDOW_MS = WINDOW_MS / 2 - 4 * TICK_MS;
/** Calls to Redis until a replica has told everything. */
const ATTEMPTS = 6;

export type ReplicaFault =
  | 'tells while a call is in flight'
  | 'does not tell after a lost reply'
  | 'does not tell after a time alone'
  | 'keeps its id when it starts again'
  | 'uses slots after their bucket is over'
  | 'gives back slots that were used';
export type Fault = RedisFault | ReplicaFault;

/** What happens to the call that a request makes: none of what comes late need ever come. */
type Fate = 'answered' | 'in flight' | 'lost' | 'reply lost';

export type Action =
  | readonly ['ask', number, Fate]
  /** Its calls reach Redis; their replies arrive too; it waits no more for the oldest. */
  | readonly ['arrive' | 'deliver' | 'time out', number]
  /** It starts anew; a call for another caller has failed. */
  | readonly ['restart' | 'is alone', number]
  /** Calls that a replica gave up arrive, for the first or another time. Replicas find Redis again. */
  | readonly ['late' | 'heal']
  /** Redis forgets everything, or the last call. */
  | readonly ['redis is empty' | 'redis falls back']
  /** Half a bucket or half a window is over; unused slots are given back. */
  | readonly ['half bucket' | 'half window' | 'give back'];

export type Run = readonly Action[];

const actionsWith = (...more: Action[]): readonly Action[] => [
  ...REPLICAS.flatMap((replica) => [
    ...(['answered', 'in flight', 'lost', 'reply lost'] as const).map((fate): Action => ['ask', replica, fate]),
    ...(['arrive', 'deliver', 'time out', 'restart', 'is alone'] as const).map((kind): Action => [kind, replica]),
  ]),
  ...(['late', 'heal', 'redis is empty', 'redis falls back', 'half window'] as const).map((kind): Action => [kind]),
  ...more,
];

/** What a replica asks for at once, and what is counted. */
export interface World {
  readonly requests: number;
  readonly ahead: number;
  readonly countsUsage: boolean;
  readonly actions: readonly Action[];
}

const WITH_BUCKETS = actionsWith(['half bucket'], ['give back']);

export const WORLDS = {
  'two at once': { requests: 2, ahead: 0, countsUsage: false, actions: actionsWith() },
  'one and a slot ahead': { requests: 1, ahead: 1, countsUsage: false, actions: WITH_BUCKETS },
  'one and a slot ahead, with usage': { requests: 1, ahead: 1, countsUsage: true, actions: WITH_BUCKETS },
} as const satisfies Record<string, World>;

interface Passed {
  readonly at: number;
  /** The replica's id, and whether Redis had counted the request or a slot for it. */
  readonly by: number;
  readonly granted: boolean;
}

interface Sent {
  readonly call: Call;
  /** Nothing in a poll. */
  readonly asking: readonly Asking[];
  readonly waiting: number;
  readonly at: number;
  reply?: { readonly reply: Reply; readonly at: number };
}

/** Faster than Chai's, for what is checked millions of times. */
const check = (holds: boolean, message: string): void => {
  if (!holds) throw new Error(message);
};

/** What `RedisLimiter` does with a shard. */
class Replica {
  readonly log = new SlidingLog(BUCKET_MS);
  readonly shard: Shard;
  readonly subject: Subject;
  readonly usage: OwnUsage | undefined;
  readonly inFlight: Sent[] = [];
  isAway = false;
  #waiting = 0;
  #isQueued = false;

  constructor(
    readonly id: number,
    readonly history: History,
  ) {
    const { countsUsage } = history.world;
    this.shard = countsUsage ? new Shard(WINDOW_MS, Number.POSITIVE_INFINITY) : new Shard(WINDOW_MS);
    this.subject = new Subject(SUBJECT, this.log, this.shard.epoch);
    if (!countsUsage) return;
    this.usage = new OwnUsage(SUBJECT, id, this.shard.epoch);
    this.shard.attach(this.subject, this.usage);
  }

  get #now(): number {
    return this.history.now;
  }

  get hasOldSlots(): boolean {
    return this.subject.slots > 0 && this.#now >= this.subject.slotsUntil;
  }

  /** @returns whether a call was made */
  take(): boolean {
    const { world, fault } = this.history;
    for (let i = 0; i < world.requests; i++) {
      if (this.isAway) this.#decideAlone();
      else if (this.subject.slots > 0 && !this.hasOldSlots) this.#useSlot();
      else if (this.subject.slots > 0 && fault === 'uses slots after their bucket is over') this.#useSlot();
      else {
        this.shard.giveBack(this.subject);
        this.#waiting++;
        this.#isQueued = true;
      }
    }
    return this.#send();
  }

  /** Makes a call though nobody asks, as for another caller. */
  tell(): void {
    this.#isQueued = true;
    this.#send();
  }

  /** Asks nothing, to find out whether Redis has lost data. @returns whether a call was made */
  poll(): boolean {
    if (this.isAway || this.#isQueued || this.inFlight.length > 0 || !this.shard.mayLose(this.#now, 0)) return false;
    this.inFlight.push({ call: this.shard.next([], this.#now), asking: [], waiting: 0, at: this.#now });
    return true;
  }

  giveBack(): void {
    this.shard.giveBack(this.subject);
    if (!this.isAway && this.shard.hasNews(this.subject)) this.tell();
  }

  heal(): void {
    this.isAway = false;
    if (this.shard.hasNews(this.subject)) this.tell();
  }

  #send(): boolean {
    const { shard, subject } = this;
    const { fault, world } = this.history;
    const isReady = shard.isReady || fault === 'tells while a call is in flight';
    if (this.isAway || !this.#isQueued || !isReady || shard.inFlight >= CALLS_IN_FLIGHT) return false;
    const waiting = this.#waiting;
    const asking = [{ subject, limit: LIMIT, asked: waiting > 0 ? waiting + world.ahead : 0 }] as const;
    const call = shard.next(asking, this.#now);
    this.#waiting = 0;
    this.#isQueued = false;
    this.inFlight.push({ call, asking, waiting, at: this.#now });
    return true;
  }

  /** The reply of its oldest call arrives. */
  receive(): void {
    const sent = this.inFlight.shift() as Sent;
    const { reply, at } = sent.reply as NonNullable<Sent['reply']>;
    this.shard.receive(sent.call, reply);
    if (reply.applied) {
      const admitted = reply.grants[0]?.admitted ?? 0;
      const passing = Math.min(admitted, sent.waiting);
      this.log.add(this.#now, passing, LIMIT, WINDOW_MS);
      this.usage?.pass(dayOfBucket(reply.bucketEnd), passing);
      for (let i = 0; i < passing; i++) this.history.passed.push({ at, by: this.id, granted: true });
      if (admitted > passing)
        this.shard.addSlots(this.subject, admitted - passing, reply.bucketEnd, sent.at + reply.bucketMs);
      while (this.#waiting > 0 && this.subject.slots > 0 && !this.hasOldSlots) {
        this.#waiting--;
        this.#useSlot();
      }
    } else {
      this.#waiting += sent.waiting;
      this.#isQueued = true;
    }
    this.#send();
  }

  /** No reply came in time for one of its calls. */
  lose(sent: Sent): void {
    this.inFlight.splice(this.inFlight.indexOf(sent), 1);
    this.history.lost.push({ id: this.id, sent });
    this.shard.lose(this.history.fault === 'does not tell after a lost reply' ? [] : sent.asking);
    this.isAway = true;
    for (let i = sent.waiting + this.#waiting; i > 0; i--) this.#decideAlone();
    this.#waiting = 0;
  }

  #decideAlone(): void {
    if (!this.log.take(this.#now, SHARE, WINDOW_MS).allowed) return;
    if (this.history.fault !== 'does not tell after a time alone') this.shard.doubt(this.subject);
    this.usage?.passAlone(DAY);
    this.history.passed.push({ at: this.#now, by: this.id, granted: false });
  }

  #useSlot(): void {
    this.subject.slots--;
    if (this.history.fault === 'gives back slots that were used') {
      this.subject.unused = [...this.subject.unused, { end: this.subject.slotsEnd, count: 1 }];
    }
    this.log.add(this.#now, 1, LIMIT, WINDOW_MS);
    this.usage?.pass(DAY, 1);
    this.history.passed.push({ at: this.#now, by: this.id, granted: true });
  }
}

class History {
  now = 1000.5;
  readonly passed: Passed[] = [];
  /** Calls that replicas gave up: what is on the way, or was, may arrive at any time of a window, even twice. */
  readonly lost: { readonly id: number; readonly sent: Sent }[] = [];
  #redis: ModelRedis;
  /** What Redis was before each call that it applied. */
  #earlier: ModelRedis[] = [];
  readonly #replicas: Replica[];
  #hasForgotten = false;
  #starts = 0;

  constructor(
    readonly world: World,
    readonly fault?: Fault,
  ) {
    this.#redis = this.#emptyRedis();
    this.#replicas = REPLICAS.map((replica) => this.#start(replica));
  }

  #emptyRedis(): ModelRedis {
    return new ModelRedis({ windowMs: WINDOW_MS, fault: this.fault as RedisFault });
  }

  #start(replica: number): Replica {
    return new Replica(this.fault === 'keeps its id when it starts again' ? replica : this.#starts++, this);
  }

  /** Redis's clock, whose buckets begin at other moments than those of the replicas'. */
  #micros(ms = this.now): number {
    return EPOCH_US + (ms + 4 * TICK_MS) * 1000;
  }

  /** @returns false where the action changes nothing but the time */
  act(action: Action): boolean {
    this.#pass(TICK_MS);
    const isDone = this.#act(action);
    this.#checkPassed();
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
      case 'is alone':
        if (replica.isAway) return false;
        replica.isAway = true;
        return true;
      case 'late':
        while (this.lost[0] && this.now - this.lost[0].sent.at >= WINDOW_MS) this.lost.shift();
        for (const { id, sent } of this.lost) this.#apply(id, sent.call);
        return this.lost.length > 0;
      case 'heal': {
        const away = this.#replicas.filter(({ isAway }) => isAway);
        for (const each of away) each.heal();
        return away.length > 0;
      }
      case 'redis is empty':
        return this.#forget(this.#emptyRedis());
      case 'redis falls back':
        return this.#forget(this.#earlier.pop());
      case 'half bucket':
        this.#pass(BUCKET_MS / 2);
        return true;
      case 'half window':
        // Replicas poll all the time; one poll in the middle stands for all of these.
        this.#pass(HALF_WINDOW_MS / 2);
        for (const each of this.#replicas) if (each.poll()) this.#deliver(each);
        this.#pass(HALF_WINDOW_MS / 2);
        return true;
      case 'give back': {
        const old = this.#replicas.filter(({ hasOldSlots }) => hasOldSlots);
        for (const each of old) each.giveBack();
        return old.length > 0;
      }
    }
  }

  #forget(earlier: ModelRedis | undefined): boolean {
    if (!earlier || this.#redis.calls.size === 0) return false;
    this.#redis = earlier;
    this.#hasForgotten = true;
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
      check(i < ATTEMPTS, 'Redis was asked too often');
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

  /** Redis counts what it grants: as long as it forgets nothing, no window has more of that than the limit. */
  #checkPassed(): void {
    if (this.#hasForgotten) return;
    const times = this.passed.filter(({ granted }) => granted).map(({ at }) => at);
    times.sort((a, b) => a - b);
    for (const [i, at] of times.entries()) {
      check((times[i + LIMIT] ?? Number.POSITIVE_INFINITY) - at >= WINDOW_MS, 'more passed than the limit');
    }
  }

  #counted(at: number, id: number): number {
    const micros = this.#micros(at);
    return sum(this.#redis.counted(SUBJECT, micros).filter(({ replica }) => replica === id));
  }

  #countedAll(at: number): number {
    return sum(this.#redis.counted(SUBJECT, this.#micros(at)));
  }

  /** All is well again: Redis has counted what replicas let pass, everything once, until it leaves the window. */
  settle(): void {
    this.act(['heal']);
    for (let round = 0; round < 2; round++) {
      for (const replica of this.#replicas) {
        this.#deliver(replica);
        replica.giveBack();
        this.#deliver(replica);
        replica.tell();
        this.#deliver(replica);
      }
      this.act(['late']);
    }
    this.#checkCounted();
    const room = Math.max(0, LIMIT - this.#countedAll(this.now));
    const before = this.passed.length;
    const most = Math.max(LIMIT, this.#passedOfLiving());
    for (let i = 0; i < LIMIT; i++) {
      for (const replica of this.#replicas) {
        replica.take();
        this.#deliver(replica);
      }
    }
    // What is told leaves the window at its own time, what was counted with its bucket: so there may be more room.
    check(this.passed.length - before >= room, 'less passed than was left');
    check(this.#passedOfLiving() <= most, 'more passed than was left');
    this.#checkCounted();
    check(this.#countedAll(this.now + WINDOW_MS + 2 * BUCKET_MS) === 0, 'something stays in the window');
  }

  /** In the window that ends now. */
  #passedOfLiving(): number {
    const isLiving = (id: number) => this.#replicas.some((replica) => replica.id === id);
    return this.passed.filter(({ at, by }) => at + WINDOW_MS > this.now && isLiving(by)).length;
  }

  /** Of each replica that has not ended, exactly what it let pass; of others, no less than Redis let them pass. */
  #checkUsage(): void {
    for (const { id, subject } of this.#replicas) {
      const ahead = subject.slots + subject.unused.reduce((total, { count }) => total + count, 0);
      const passed = this.passed.filter(({ by }) => by === id).length;
      check(this.#redis.usedBy(SUBJECT, DAY, id) === passed + ahead, 'usage is not what passed');
    }
    if (this.#hasForgotten) return;
    for (const id of new Set(this.passed.map(({ by }) => by))) {
      const passed = this.passed.filter(({ by, granted }) => by === id && granted).length;
      check(this.#redis.usedBy(SUBJECT, DAY, id) >= passed, 'usage lost something');
    }
  }

  #checkCounted(): void {
    if (this.world.countsUsage) this.#checkUsage();
    const living = new Set(this.#replicas.map(({ id }) => id));
    for (const id of new Set(this.passed.map(({ by }) => by))) {
      const its = this.passed.filter(
        ({ by, granted }) => by === id && (living.has(id) || (granted && !this.#hasForgotten)),
      );
      for (const { at } of its) {
        // Just before it leaves the window, or any later one does.
        const moment = Math.max(this.now, at + WINDOW_MS - TICK_MS);
        const inWindow = its.filter((passed) => passed.at + WINDOW_MS > moment).length;
        check(this.#counted(moment, id) >= inWindow, 'something was not counted, or not long enough');
      }
      if (!living.has(id)) continue;
      // Dated by when the reply came, and sent and counted with up to a bucket more.
      const latest = this.now - WINDOW_MS - 2 * BUCKET_MS - 2 * TIMEOUT_MS;
      const atMost = its.filter(({ at }) => at > latest).length;
      check(this.#counted(this.now, id) <= atMost, 'something was counted twice');
    }
  }
}

/** @returns whether the last action changed anything; @throws where the invariant is broken, now or when all is well */
export const run = (world: World, actions: Run, fault?: Fault): boolean => {
  const history = new History(world, fault);
  let isDone = true;
  for (const action of actions) isDone = history.act(action);
  history.settle();
  return isDone;
};

/** Replicas are alike, and before the first request nothing can happen. */
const isFirst = ([kind, replica]: Action): boolean => kind === 'ask' && replica === 0;

/** Tries every run of up to so many actions, the shortest first. @returns the first that breaks the invariant */
export const search = (world: World, depth: number, fault?: Fault): { run: Run; error: unknown } | undefined => {
  let runs: Run[] = world.actions.filter(isFirst).map((action) => [action]);
  for (let length = 1; length <= depth; length++) {
    const longer: Run[] = [];
    for (const actions of runs) {
      try {
        if (run(world, actions, fault) && length < depth)
          longer.push(...world.actions.map((action) => [...actions, action]));
      } catch (error) {
        return { run: actions, error };
      }
    }
    runs = longer;
  }
  return undefined;
};
