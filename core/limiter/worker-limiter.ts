import type { DayUsage, Decision, Limiter, Quotas } from '../contracts/limiter.js';
import type { Health } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import { withTimeout } from '../util/with-timeout.js';
import type { MemoryLimiter } from './memory-limiter.js';

export interface WorkerAsk {
  readonly caller: string;
  readonly limit: number;
  readonly quotas?: Quotas | undefined;
  readonly count: number;
}

export interface WorkerGrant extends Pick<Decision, 'remaining' | 'resetMs' | 'quotas'> {
  readonly allowed: number;
}

export const grantAll = (limiter: MemoryLimiter, asks: readonly WorkerAsk[]): WorkerGrant[] =>
  asks.map(({ caller, limit, quotas, count }) => {
    let admitted = 0;
    for (let asked = 1; ; asked++) {
      const { allowed, remaining, resetMs, quotas: states } = limiter.take(caller, limit, quotas);
      if (allowed) admitted++;
      // Rejected requests count towards usage, so `take` must be called for each request of a caller with quotas. For
      // other callers, the loop ends at the first rejected request.
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

/** Timeout for a reply from the primary process. Its event loop is never blocked for this long. */
const TIMEOUT_MS = 1000;
const LATE = 'The process that manages rate limits does not respond: requests that count towards a limit are rejected.';

/**
 * Asks the primary process for decisions in batches. Only one batch is in flight, so batches grow with the load. While
 * a reply is overdue, requests are rejected immediately. Requests in an overdue batch are still counted, so a caller
 * can get less than its limit, but never more.
 */
export class WorkerLimiter implements Limiter {
  readonly #ask: (asks: readonly WorkerAsk[]) => Promise<readonly WorkerGrant[]>;
  readonly #askUsage: (caller: string) => Promise<readonly DayUsage[]>;
  readonly #timeoutMs: number;
  #queue = new Map<string, Waiting>();
  #busy = false;
  #late = false;

  constructor(
    ask: (asks: readonly WorkerAsk[]) => Promise<readonly WorkerGrant[]>,
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
      for (const [index, waiting] of batch.entries()) settleAll(waiting, grants[index] as WorkerGrant);
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

const settleAll = ({ limit, settle }: Waiting, { allowed, ...state }: WorkerGrant): void => {
  for (const [index, each] of settle.entries()) each({ allowed: index < allowed, limit, ...state });
};
