/**
 * Refuses requests past the service's capacity, so that those it admits keep their latency.
 *
 * Two signs tell that it is past: too many requests are being answered at once (they wait for a store), or those that
 * came together wait too long for the event loop (they wait for this process). One long turn of the loop is a burst
 * or a pause, which the queue is there for; only when turns have been too long for `PATIENCE_MS` does each turn refuse
 * what it cannot get to in time. This is the idea of CoDel (RFC 8289): what counts is a queue that stays.
 *
 * It stands before the pipeline, since a refusal must cost a fraction of an answer: no limiter is asked, and one log
 * line a spell is written instead of one a request.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import type { CommonHeaders } from './headers.js';
import type { Handle } from './pipeline.js';
import { refusal } from './refusals.js';

export interface AdmissionOptions {
  readonly maxInFlight: number;
  readonly maxEventLoopDelayMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** Calls back when the loop's turn ends. For tests; Node's `setImmediate` by default. */
  readonly atEndOfTurn?: (callback: () => void) => void;
}

export type Overload = 'in_flight' | 'event_loop_delay';

const PATIENCE_MS = 250;
/** So few requests in a turn are no overload, however long each takes: they would wait for one another anyway. */
const FEW = 16;
/** After so long without a refusal, a spell of overload is over. */
const CALM_MS = 1000;

export class Admission {
  readonly refused: Record<Overload, number> = { in_flight: 0, event_loop_delay: 0 };
  readonly #options: AdmissionOptions;
  readonly #atEndOfTurn: (callback: () => void) => void;
  readonly #endTurn = () => this.#onTurnEnd();
  #inFlight = 0;
  /** When the first request of the event loop's running turn was seen. */
  #turnSince: number | undefined;
  /** Requests admitted in it. */
  #admitted = 0;
  /** Since when turns have been too long. */
  #longSince: number | undefined;
  #lastRefusal: number | undefined;
  #refusedBefore = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#atEndOfTurn = options.atEndOfTurn ?? setImmediate;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Undefined admits a request, which `leave` must be called for when it ends. */
  enter(): Overload | undefined {
    const now = this.#options.clock.monotonic();
    const overload = this.#overload(now);
    if (overload === undefined) {
      this.#inFlight++;
      this.#admitted++;
    } else this.#refuse(overload, now);
    return overload;
  }

  leave(): void {
    this.#inFlight--;
  }

  #overload(now: number): Overload | undefined {
    const { maxInFlight, maxEventLoopDelayMs } = this.#options;
    if (this.#turnSince === undefined) {
      this.#turnSince = now;
      this.#atEndOfTurn(this.#endTurn);
    } else if (
      this.#admitted >= FEW &&
      now - this.#turnSince > maxEventLoopDelayMs &&
      this.#longSince !== undefined &&
      now - this.#longSince > PATIENCE_MS
    ) {
      return 'event_loop_delay';
    }
    return this.#inFlight >= maxInFlight ? 'in_flight' : undefined;
  }

  #onTurnEnd(): void {
    const now = this.#options.clock.monotonic();
    const length = now - (this.#turnSince ?? now);
    if (length <= this.#options.maxEventLoopDelayMs) this.#longSince = undefined;
    else this.#longSince ??= now - length;
    this.#turnSince = undefined;
    this.#admitted = 0;
    if (this.#lastRefusal !== undefined && now - this.#lastRefusal > CALM_MS) this.#calm();
  }

  #refuse(overload: Overload, now: number): void {
    this.refused[overload]++;
    if (this.#lastRefusal === undefined) {
      this.#refusedBefore = this.#refusedInAll() - 1;
      this.#options.logger.warn({ overload, inFlight: this.#inFlight }, 'overloaded: refusing requests with 503');
    }
    this.#lastRefusal = now;
  }

  #calm(): void {
    this.#lastRefusal = undefined;
    this.#options.logger.info({ refused: this.#refusedInAll() - this.#refusedBefore }, 'the overload is over');
  }

  #refusedInAll(): number {
    return this.refused.in_flight + this.refused.event_loop_delay;
  }
}

const RETRY_AFTER_SECONDS = '1';

/**
 * @param always request targets that are answered however busy the service is: readiness must not fail with load, or
 * a load balancer would move it to the other replicas until none is left
 */
export const admitting = (
  admission: Admission,
  always: ReadonlySet<string>,
  headers: CommonHeaders,
  handle: Handle,
) => {
  const { toRequest } = refusal(new ApiError(errors.service_unavailable), headers, {
    more: ['Retry-After', RETRY_AFTER_SECONDS],
    close: false,
  });
  const leave = () => admission.leave();
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (always.has(request.url ?? '')) void handle(request, response);
    else if (admission.enter() !== undefined) toRequest(request, response);
    else {
      const answering = handle(request, response);
      if (answering) void answering.then(leave);
      else leave();
    }
  };
};
