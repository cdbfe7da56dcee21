import type { Decision, Quotas } from '../contracts/limiter.js';
import type { Clock } from '../contracts/runtime.js';
import type { RedisConnection } from '../redis/connection.js';
import { CallerState, type Entry, type Settle } from './caller.js';
import { CallsInFlight, checkScript, type Reply, type Sent, type Target } from './calls.js';
import { Decisions, prefetchCount, returnPrefetched } from './decisions.js';
import { DAY_MS } from './quotas.js';
import { PartitionSync } from './resync.js';
import { SlidingWindow } from './window.js';

type Batch = readonly Entry[];

interface PartitionOptions {
  readonly target: Target;
  readonly countsUsage: boolean;
  readonly redis: Pick<RedisConnection, 'timeoutMs' | 'durations'>;
  readonly clock: Clock;
  readonly isUnreachable: () => boolean;
  readonly onFailure: (partition: Partition, error: unknown) => void;
  readonly onDataLoss: () => void;
  readonly decideLocally: (partition: Partition, caller: CallerState) => Decision | Promise<never>;
}

/** The maximum number of callers in one call. More callers would block Redis for too long. */
const LARGEST_BATCH = 200;
const CALLS_IN_FLIGHT = 2;
/**
 * Batches of at least this size are split in two. Redis processes the second half while the reply to the first half is
 * on its way.
 */
const SPLIT_FROM = 20;

const NONE: Settle[] = [];

export class Partition {
  readonly #options: PartitionOptions;
  readonly #clock: Clock;
  readonly #bucketMs: number;
  readonly #calls: CallsInFlight<Batch>;
  readonly sync: PartitionSync;
  readonly decisions: Decisions;
  #queue: CallerState[] = [];
  #isScheduled = false;
  /** Callers that might have expired permits or unreported rejections. A timer checks them. */
  readonly #unreported = new Set<CallerState>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PartitionOptions) {
    const { target, clock, redis, countsUsage } = options;
    this.#options = options;
    this.#clock = clock;
    const { windowMs, bucketMicros } = target.script;
    this.#bucketMs = bucketMicros / 1000;
    this.sync = new PartitionSync(countsUsage ? 2 * DAY_MS : windowMs + this.#bucketMs);
    this.decisions = new Decisions(this.#bucketMs, this.sync, clock);
    this.#calls = new CallsInFlight<Batch>({
      target,
      redis,
      clock,
      onReply: (sent, reply) => this.#receive(sent, reply),
      onFailure: (sent, error) => this.#fail(sent, error),
    });
  }

  get key(): string {
    return this.#options.target.key;
  }

  check(): Promise<unknown> {
    return checkScript(this.#options.target);
  }

  get isBusy(): boolean {
    return this.sync.inFlight > 0 || this.#queue.length > 0;
  }

  createCaller(name: string): CallerState {
    const window = new SlidingWindow(this.#options.target.script.windowMs, this.#bucketMs);
    return new CallerState(name, window, this.sync.epoch);
  }

  /** Sends a call without callers if Redis might have lost data. The reply shows whether it has. */
  checkForDataLoss(now: number, idleMs: number): void {
    if (!this.isBusy && this.sync.mayHaveLostData(now, idleMs)) this.#send([]);
  }

  /** The last reply and prefetched permits are discarded, because they were based on the old limit. */
  changeLimit(caller: CallerState, limit: number, quotas: Quotas | undefined): void {
    caller.limit = limit;
    caller.quotas = quotas;
    caller.remaining = 0;
    caller.rejectUntil = 0;
    returnPrefetched(caller);
  }

  ask(caller: CallerState): Promise<Decision> {
    return new Promise((settle) => {
      this.#enqueue(caller);
      if (caller.waiting === NONE) caller.waiting = [settle as Settle];
      else caller.waiting?.push(settle as Settle);
    });
  }

  reject(caller: CallerState, now: number): Decision {
    if (caller.usage) this.#reportLater(caller);
    return this.decisions.reject(caller, now);
  }

  report(caller: CallerState): void {
    if (caller.waiting || this.sync.needsCall(caller)) this.#enqueue(caller);
  }

  decideQueuedLocally(): void {
    for (const caller of this.#queue) {
      const { waiting = NONE } = caller;
      caller.waiting = NONE;
      this.#settleLocally(caller, waiting);
    }
  }

  returnAll(): void {
    clearTimeout(this.#timer);
    for (const caller of this.#unreported) returnPrefetched(caller);
  }

  #enqueue(caller: CallerState): void {
    if (caller.waiting) return;
    caller.waiting = NONE;
    this.#queue.push(caller);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // `setImmediate` makes the batch include all requests that arrive during the current event loop turn.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendBatches();
    });
  }

  #sendBatches(): void {
    while (this.#queue.length > 0 && this.sync.canSend && this.sync.inFlight < CALLS_IN_FLIGHT) {
      const { length } = this.#queue;
      const isSplit = this.sync.inFlight === 0 && length >= SPLIT_FROM;
      const most = isSplit ? Math.min(Math.ceil(length / 2), LARGEST_BATCH) : LARGEST_BATCH;
      const now = this.#clock.monotonic();
      const batch: Entry[] = [];
      for (const caller of this.#queue.splice(0, most)) {
        const entry = this.#dequeue(caller, now);
        // While the caller was queued, prefetched permits might have served all its waiting requests.
        if (entry.waiting.length > 0 || this.sync.needsCall(caller)) batch.push(entry);
      }
      if (this.#options.isUnreachable()) this.#settleAllLocally(batch);
      else if (batch.length > 0) this.#send(batch);
    }
  }

  #dequeue(caller: CallerState, now: number): Entry {
    const { limit, quotas, waiting = NONE } = caller;
    caller.waiting = undefined;
    const permits = waiting.length + prefetchCount(caller, waiting.length, now, this.#bucketMs);
    return { caller, limit, quotas, permits, waiting };
  }

  #send(batch: Batch): void {
    const sentAt = this.#clock.monotonic();
    this.#calls.send({ batch, call: this.sync.nextCall(batch, sentAt), sentAt });
  }

  #receive({ batch, call, sentAt }: Sent<Batch>, reply: Reply): void {
    this.sync.receive(call, reply);
    if (reply.applied) {
      this.decisions.settle(batch, reply, { sentAt, receivedAt: this.#clock.monotonic() });
      for (const { caller } of batch) if (caller.prefetched || caller.usage?.hasRejections) this.#reportLater(caller);
    } else {
      this.#options.onDataLoss();
      this.#settleAllLocally(batch);
    }
    this.#sendBatches();
  }

  #fail({ batch }: Sent<Batch>, error: unknown): void {
    this.sync.lose(batch);
    if (batch.length > 0) this.#options.onFailure(this, error);
    this.#settleAllLocally(batch);
    this.#sendBatches();
  }

  #settleAllLocally(batch: Batch): void {
    for (const { caller, waiting } of batch) this.#settleLocally(caller, waiting);
  }

  #settleLocally(caller: CallerState, waiting: readonly Settle[]): void {
    for (const settle of waiting) settle(this.#options.decideLocally(this, caller));
  }

  #reportLater(caller: CallerState): void {
    this.#unreported.add(caller);
    this.#timer ??= setTimeout(this.#reportUnreported, this.#bucketMs).unref();
  }

  readonly #reportUnreported = (): void => {
    const now = this.#clock.monotonic();
    for (const caller of this.#unreported) {
      if (caller.prefetched && now < caller.prefetched.expiresAt) continue;
      this.#unreported.delete(caller);
      returnPrefetched(caller);
      this.report(caller);
    }
    this.#timer = undefined;
    if (this.#unreported.size > 0) this.#timer = setTimeout(this.#reportUnreported, this.#bucketMs).unref();
  };
}
