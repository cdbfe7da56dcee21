/** The limiter of several workers on one machine. One process decides for all of them; workers ask it in batches. */
import type { DayUsage, Decision, Limiter, Quotas } from '../contracts/limiter.js';
import type { Health } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import { withTimeout } from '../util/with-timeout.js';
import type { MemoryLimiter } from './memory-limiter.js';

/** The requests of one caller that a worker asks permits for. */
export interface Ask {
  readonly caller: string;
  readonly limit: number;
  readonly quotas?: Quotas | undefined;
  readonly count: number;
}

/** How many of them are allowed, and the state after the last one. */
export interface Grant extends Pick<Decision, 'remaining' | 'resetMs' | 'quotas'> {
  readonly allowed: number;
}

/** Decides a batch. Runs in the process that decides for all workers. */
export const grantAll = (limiter: MemoryLimiter, asks: readonly Ask[]): Grant[] =>
  asks.map(({ caller, limit, quotas, count }) => {
    let admitted = 0;
    for (let asked = 1; ; asked++) {
      const { allowed, remaining, resetMs, quotas: states } = limiter.take(caller, limit, quotas);
      if (allowed) admitted++;
      // Usage counts every rejected request, so only callers without quotas can stop here.
      if (asked === count || !(allowed || quotas)) {
        return { allowed: admitted, remaining, resetMs, ...(states && { quotas: states }) };
      }
    }
  });

interface Waiting {
  readonly caller: string;
  readonly limit: number;
  readonly quotas: Quotas | undefined;
  readonly settle: ((decision: Decision | Promise<never>) => void)[];
}

/** Far longer than a process pauses that only decides, far shorter than callers wait. */
const TIMEOUT_MS = 1000;
const LATE = 'The process that keeps the rate limits does not respond: limited requests are refused.';

/**
 * One batch is in flight at a time, and requests wait for the next one. So batches grow with the load. While a reply is
 * late, requests are rejected at once. The requests of a late batch were rejected but stay counted: the limit may be
 * used too little, never too much.
 */
export class WorkerLimiter implements Limiter {
  readonly #ask: (asks: readonly Ask[]) => Promise<readonly Grant[]>;
  readonly #askUsage: (caller: string) => Promise<readonly DayUsage[]>;
  readonly #timeoutMs: number;
  #queue = new Map<string, Waiting>();
  #busy = false;
  #late = false;

  /**
   * @param ask sends a batch to the process that decides, and resolves with a grant for each ask
   * @param askUsage reads a caller's usage there
   */
  constructor(
    ask: (asks: readonly Ask[]) => Promise<readonly Grant[]>,
    askUsage: (caller: string) => Promise<readonly DayUsage[]>,
    timeoutMs = TIMEOUT_MS,
  ) {
    this.#ask = ask;
    this.#askUsage = askUsage;
    this.#timeoutMs = timeoutMs;
  }

  take(caller: string, limit: number, quotas?: Quotas): Promise<Decision> {
    if (this.#late) return Promise.reject(new LimiterUnavailable(LATE));
    return new Promise((settle) => {
      const key = `${limit} ${quotas?.perDay} ${quotas?.perMonth} ${caller}`;
      const waiting = this.#queue.get(key);
      if (waiting) waiting.settle.push(settle);
      else this.#queue.set(key, { caller, limit, quotas, settle: [settle] });
      if (!this.#busy) void this.#sendBatches();
    });
  }

  async usage(caller: string): Promise<readonly DayUsage[]> {
    try {
      return await withTimeout(this.#askUsage(caller), this.#timeoutMs);
    } catch (cause) {
      throw new LimiterUnavailable('The process that counts usage does not respond.', { cause });
    }
  }

  health(): Health {
    return this.#late ? { ok: false, message: LATE } : { ok: true, message: null };
  }

  async close(): Promise<void> {}

  async #sendBatches(): Promise<void> {
    this.#busy = true;
    while (this.#queue.size > 0) await this.#decide(this.#takeQueue());
    this.#busy = false;
  }

  #takeQueue(): Waiting[] {
    const queue = [...this.#queue.values()];
    this.#queue = new Map();
    return queue;
  }

  async #decide(batch: readonly Waiting[]): Promise<void> {
    const asks = batch.map(({ caller, limit, quotas, settle }) => ({ caller, limit, quotas, count: settle.length }));
    const reply = this.#ask(asks);
    try {
      const grants = await withTimeout(reply, this.#timeoutMs);
      for (const [index, waiting] of batch.entries()) settleAll(waiting, grants[index] as Grant);
    } catch {
      this.#late = true;
      for (const { settle } of [...batch, ...this.#takeQueue()]) {
        for (const each of settle) each(Promise.reject(new LimiterUnavailable(LATE)));
      }
      await reply;
      this.#late = false;
    }
  }
}

const settleAll = ({ limit, settle }: Waiting, { allowed, ...state }: Grant): void => {
  for (const [index, each] of settle.entries()) each({ allowed: index < allowed, limit, ...state });
};
