/** The calls of one batcher that wait for their reply. */
import type { Clock } from '../contracts/runtime.js';
import { type Call, decide, type Reply, type Target } from './script.js';

/** A call that was sent with the batch that it asks for. */
export interface Sent<Batch> {
  readonly batch: Batch;
  readonly call: Call;
  /** Monotonic milliseconds. */
  readonly sentAt: number;
}

interface CallsOptions<Batch> {
  readonly target: Target;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly onReply: (sent: Sent<Batch>, reply: Reply) => void;
  /** The call failed or timed out. A later reply is ignored. */
  readonly onFailure: (sent: Sent<Batch>, error: unknown) => void;
}

/** One timer serves all calls in flight: a timer for each would cost as much as the rest of the call. */
export class CallsInFlight<Batch> {
  readonly #options: CallsOptions<Batch>;
  /** Oldest first. */
  readonly #calls = new Set<Sent<Batch>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CallsOptions<Batch>) {
    this.#options = options;
  }

  send(sent: Sent<Batch>): void {
    const { target, timeoutMs, onReply } = this.#options;
    this.#calls.add(sent);
    this.#timer ??= setTimeout(this.#checkTimeouts, timeoutMs);
    decide(target, sent.call).then(
      (reply) => {
        if (this.#calls.delete(sent)) onReply(sent, reply);
      },
      (error: unknown) => this.#fail(sent, error),
    );
  }

  #fail(sent: Sent<Batch>, error: unknown): void {
    if (this.#calls.delete(sent)) this.#options.onFailure(sent, error);
  }

  readonly #checkTimeouts = (): void => {
    const { clock, timeoutMs } = this.#options;
    const now = clock.monotonic();
    const late = [...this.#calls].filter(({ sentAt }) => now - sentAt >= timeoutMs);
    // After a long turn of the event loop, timers run before I/O that has arrived: read the replies first.
    setImmediate(() => {
      for (const sent of late) this.#fail(sent, new Error(`There was no response within ${timeoutMs} ms.`));
      const [oldest] = this.#calls;
      const left = oldest && timeoutMs - (clock.monotonic() - oldest.sentAt);
      this.#timer = left === undefined ? undefined : setTimeout(this.#checkTimeouts, Math.max(0, left));
    });
  };
}
