/**
 * Rejects requests beyond the service's capacity, so that the admitted ones keep their latency.
 *
 * There are two signs of overload: too many requests in flight, which wait for a store; and turns of the event loop that
 * get longer. One long turn is a burst. A longer turn after it means that more requests arrive in a turn than a turn can
 * handle. From then on, each turn admits the requests that it reaches within a few milliseconds and rejects the others,
 * until the event loop is idle for part of the time. This follows CoDel (RFC 8289). Turns are measured in processor time
 * of this process, since other processes lengthen them too.
 *
 * Requests in the work queue are not counted: they wait for other requests of the same caller, and the queue has bounds
 * of its own.
 *
 * Admission runs before the Koa application, since a rejection must cost a fraction of a response. No limiter is asked,
 * and the log has one line for each overload, not for each request.
 */
import type { Config } from '../config/schema.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import { refusal } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { type EventLoop, nodeEventLoop, SpareTime } from '../util/event-loop.js';
import type { Handle } from './accept.js';

interface AdmissionOptions extends NonNullable<Config['server']['overload']> {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** The work queue. */
  readonly work: { readonly size: number };
  /** For tests. Default: Node's own. */
  readonly eventLoop?: EventLoop;
}

type Overload = 'in_flight' | 'event_loop_delay';

/** Fewer requests at once are no overload, however long each takes. */
const FEW = 16;
/** How long a turn admits requests during an overload. */
const SHORT_TURN_MS = 2;
/** During an overload, as many requests are in flight as complete within this time, and at least one. */
const SHORT_QUEUE_MS = 4;
const FEWEST_IN_FLIGHT = 1;
/** How often the pace at which requests complete is measured. */
const PACE_MS = 50;
/** The log reports the end of an overload after this time without a rejection. */
const CALM_MS = 1000;

export class Admission {
  readonly refused: Record<Overload, number> = { in_flight: 0, event_loop_delay: 0 };
  readonly #options: AdmissionOptions;
  readonly #eventLoop: EventLoop;
  readonly #endTurn = () => this.#onTurnEnd();
  #inFlight = 0;
  /** How many requests have completed, and the last measurement of their pace. */
  #ended = 0;
  #pace = { since: 0, ended: 0 };
  /** How many requests may be in flight during an overload. */
  #shortQueue = FEWEST_IN_FLIGHT;
  /** When the first request of the current turn arrived. */
  #turnSince: number | undefined;
  /** Requests of the current turn. */
  #seen = 0;
  /** The length of the previous turn, and the processor time at its end. Undefined after a short turn. */
  #previousTurn: { readonly length: number; readonly worked: number } | undefined;
  /** Set during an overload, which ends when the event loop has time to spare. */
  #spare: SpareTime | undefined;
  #lastRefusal: number | undefined;
  #refusedBefore = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#eventLoop = options.eventLoop ?? nodeEventLoop;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The requests in flight that are not in the work queue. */
  get #counted(): number {
    return this.#inFlight - this.#options.work.size;
  }

  /** Undefined admits the request. Call `leave` when it completes. */
  enter(): Overload | undefined {
    const now = this.#options.clock.monotonic();
    const overload = this.#overload(now);
    if (overload === undefined) this.#inFlight++;
    else this.#refuse(overload, now);
    return overload;
  }

  leave(): void {
    this.#inFlight--;
    this.#ended++;
  }

  #overload(now: number): Overload | undefined {
    if (this.#turnSince === undefined) this.#beginTurn(now);
    const elapsed = now - (this.#turnSince ?? now);
    if (this.#spare ? this.#hasEnough(elapsed) : this.#isTooLate(now, elapsed)) return 'event_loop_delay';
    this.#seen++;
    return this.#counted >= this.#options.maxInFlight ? 'in_flight' : undefined;
  }

  #beginTurn(now: number): void {
    this.#turnSince = now;
    this.#eventLoop.atEndOfTurn(this.#endTurn);
    if (this.#spare === undefined) return;
    if (this.#spare.poll(now)) this.#spare = undefined;
    else if (now - this.#pace.since > PACE_MS) this.#setPace(now);
  }

  /** By Little's law, a request waits for the requests in flight divided by the pace at which they complete. */
  #setPace(now: number): void {
    const { since, ended } = this.#pace;
    this.#shortQueue = Math.max(FEWEST_IN_FLIGHT, (SHORT_QUEUE_MS * (this.#ended - ended)) / (now - since));
    this.#pace = { since: now, ended: this.#ended };
  }

  /** Whether an overload begins. */
  #isTooLate(now: number, elapsed: number): boolean {
    if (!this.#areMany() || !this.#isGrowing(elapsed)) return false;
    this.#spare = new SpareTime(this.#eventLoop, now);
    this.#pace = { since: now, ended: this.#ended };
    this.#shortQueue = FEWEST_IN_FLIGHT;
    return true;
  }

  /** Whether the current turn is long, and longer than the previous one. */
  #isGrowing(elapsed: number): boolean {
    if (this.#previousTurn === undefined) return false;
    const { maxEventLoopDelayMs } = this.#options;
    const { length, worked } = this.#previousTurn;
    return elapsed > Math.max(maxEventLoopDelayMs, length) && this.#eventLoop.worked() - worked > maxEventLoopDelayMs;
  }

  /** Whether the turn has admitted as many requests as may be in flight during an overload. */
  #hasEnough(elapsed: number): boolean {
    return elapsed > SHORT_TURN_MS || this.#counted >= this.#shortQueue;
  }

  #areMany(): boolean {
    return this.#seen >= FEW || this.#counted >= FEW;
  }

  #onTurnEnd(): void {
    const now = this.#options.clock.monotonic();
    const length = now - (this.#turnSince ?? now);
    // A turn reads the responses of a store after all its requests have arrived.
    if (!this.#spare) this.#isTooLate(now, length);
    const long = length > SHORT_TURN_MS && this.#areMany();
    this.#previousTurn = long ? { length, worked: this.#eventLoop.worked() } : undefined;
    this.#turnSince = undefined;
    this.#seen = 0;
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
const REFUSED = Promise.resolve();

/**
 * @param always request targets that are admitted during an overload too. If readiness failed under load, a load
 * balancer would send the load to the other replicas until none is left
 */
export const admitting = (
  admission: Admission,
  always: ReadonlySet<string>,
  headers: CommonHeaders,
  handle: Handle,
): Handle => {
  const { toRequest } = refusal(new ApiError(errors.service_unavailable), headers, {
    more: { 'Retry-After': RETRY_AFTER_SECONDS },
    close: false,
  });
  const leave = () => admission.leave();
  return (request, response) => {
    if (always.has(request.url ?? '')) return handle(request, response);
    if (admission.enter() === undefined) return handle(request, response, leave);
    toRequest(request, response);
    return REFUSED;
  };
};
