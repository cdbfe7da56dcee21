/** The limiter of several workers on one machine: one process decides for all of them, and they ask it in batches. */
import type { DayUsage, Decision, Limiter, Quotas } from '../contracts/limiter.js';
import type { Health } from '../contracts/runtime.js';
import { LimiterUnavailable } from '../errors.js';
import { withTimeout } from '../util/with-timeout.js';
import type { MemoryLimiter } from './in-memory.js';

/** Requests of one subject under one limit. */
export interface Ask {
  readonly subject: string;
  readonly limit: number;
  readonly quotas?: Quotas | undefined;
  readonly count: number;
}

/** How many of them pass, and what the last of them was told. */
export interface Grant extends Pick<Decision, 'remaining' | 'resetMs' | 'quotas'> {
  readonly admitted: number;
}

/** Decides batches, each at once: whatever the order in which workers ask, no subject passes more than its limit. */
export const grantAll = (limiter: MemoryLimiter, asks: readonly Ask[]): Grant[] =>
  asks.map(({ subject, limit, quotas, count }) => {
    let admitted = 0;
    for (let asked = 1; ; asked++) {
      const { allowed, ...told } = limiter.take(subject, limit, quotas);
      if (allowed) admitted++;
      // The usage of a caller counts each refusal.
      if (asked === count || !(allowed || quotas)) return { ...told, admitted };
    }
  });

interface Batch {
  readonly subject: string;
  readonly limit: number;
  readonly quotas: Quotas | undefined;
  readonly waiting: ((decision: Decision | Promise<never>) => void)[];
}

/** Far above any pause of a process that does nothing but this, far below the patience of callers. */
const TIMEOUT_MS = 1000;
const LATE = 'The process that keeps the rate limits does not answer: limited requests are refused.';

/**
 * One question is in flight at a time, with all that waits for a decision: so its cost is shared the more, the more
 * requests there are. While an answer is late, requests are rejected at once; what it admits when it comes is counted
 * though its requests have been refused, since a limit may be used too little but never exceeded.
 */
export class WorkerLimiter implements Limiter {
  readonly #ask: (asks: readonly Ask[]) => Promise<readonly Grant[]>;
  readonly #askUsage: (subject: string) => Promise<readonly DayUsage[]>;
  readonly #timeoutMs: number;
  #batches = new Map<string, Batch>();
  #busy = false;
  #late = false;

  /**
   * @param ask puts a question to whoever calls `grantAll`: one grant for each ask, in their order
   * @param askUsage asks the same process for the usage of a subject
   */
  constructor(
    ask: (asks: readonly Ask[]) => Promise<readonly Grant[]>,
    askUsage: (subject: string) => Promise<readonly DayUsage[]>,
    timeoutMs = TIMEOUT_MS,
  ) {
    this.#ask = ask;
    this.#askUsage = askUsage;
    this.#timeoutMs = timeoutMs;
  }

  take(subject: string, limit: number, quotas?: Quotas): Promise<Decision> {
    if (this.#late) return Promise.reject(new LimiterUnavailable(LATE));
    return new Promise((settle) => {
      const key = `${limit} ${quotas?.perDay} ${quotas?.perMonth} ${subject}`;
      const batch = this.#batches.get(key);
      if (batch) batch.waiting.push(settle);
      else this.#batches.set(key, { subject, limit, quotas, waiting: [settle] });
      if (!this.#busy) void this.#work();
    });
  }

  async usage(subject: string): Promise<readonly DayUsage[]> {
    try {
      return await withTimeout(this.#askUsage(subject), this.#timeoutMs);
    } catch (cause) {
      throw new LimiterUnavailable('The process that counts usage does not answer.', { cause });
    }
  }

  health(): Health {
    return this.#late ? { ok: false, message: LATE } : { ok: true, message: null };
  }

  async close(): Promise<void> {}

  async #work(): Promise<void> {
    this.#busy = true;
    while (this.#batches.size > 0) await this.#decide(this.#takeBatches());
    this.#busy = false;
  }

  #takeBatches(): Batch[] {
    const batches = [...this.#batches.values()];
    this.#batches = new Map();
    return batches;
  }

  async #decide(batches: readonly Batch[]): Promise<void> {
    const asks = batches.map(({ subject, limit, quotas, waiting }) => ({
      subject,
      limit,
      quotas,
      count: waiting.length,
    }));
    const answer = this.#ask(asks);
    try {
      const grants = await withTimeout(answer, this.#timeoutMs);
      for (const [index, batch] of batches.entries()) settleBatch(batch, grants[index] as Grant);
    } catch {
      this.#late = true;
      for (const { waiting } of [...batches, ...this.#takeBatches()]) {
        for (const settle of waiting) settle(Promise.reject(new LimiterUnavailable(LATE)));
      }
      await answer;
      this.#late = false;
    }
  }
}

const settleBatch = ({ limit, waiting }: Batch, { admitted, ...told }: Grant): void => {
  for (const [index, settle] of waiting.entries()) settle({ allowed: index < admitted, limit, ...told });
};
