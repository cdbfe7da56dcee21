/**
 * Refuses requests past the service's capacity, so that those it admits keep their latency.
 *
 * Three signs tell overload: too many requests in flight at once, which wait for a store; a long wait in the queue of
 * long work; or turns of the event loop that get longer. A single long turn is a burst; a longer one after it means
 * that more requests arrive in a turn than a turn can handle. Turns are measured in processor time of this process,
 * since other processes lengthen them, too. From then on each turn admits the requests that it reaches within a few
 * milliseconds and refuses the rest, until the loop has time to spare. This is the idea of CoDel (RFC 8289): a standing
 * queue is drained and kept short.
 *
 * It stands before the Koa application, since a refusal must cost a fraction of a response: no limiter is asked, and
 * one log line is written for each spell of overload, not for each request.
 */
import type { Config } from '../config/schema.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import type { Handle } from '../pipeline/service-koa.js';
import { refusal } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { type EventLoop, nodeEventLoop, SpareTime } from '../util/event-loop.js';

interface AdmissionOptions extends NonNullable<Config['server']['overload']> {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** For tests; Node's own by default. */
  readonly eventLoop?: EventLoop;
}

type Overload = 'in_flight' | 'event_loop_delay';

/** Up to this number of requests at once is no overload, however long each takes. */
const FEW = 16;
/** How long a turn may admit requests while the queue is kept short. */
const SHORT_TURN_MS = 2;
/**
 * Admits only as many requests as complete within SHORT_QUEUE_MS, and one in any case. The pace at which requests
 * complete is measured at this interval.
 */
const SHORT_QUEUE_MS = 4;
const FEWEST_IN_FLIGHT = 1;
const PACE_MS = 50;
/** A spell of overload is over, for the log, after this long without a refusal. */
const CALM_MS = 1000;

export class Admission {
  readonly refused: Record<Overload, number> = { in_flight: 0, event_loop_delay: 0 };
  readonly #options: AdmissionOptions;
  readonly #eventLoop: EventLoop;
  readonly #endTurn = () => this.#onTurnEnd();
  #inFlight = 0;
  /** How many requests have completed in all, and when their pace was measured last. */
  #ended = 0;
  #pace = { since: 0, ended: 0 };
  /** How many may be in flight while the queue is kept short. */
  #shortQueue = FEWEST_IN_FLIGHT;
  /** When the first request of the event loop's running turn was seen. */
  #turnSince: number | undefined;
  /** Requests seen in the running turn. */
  #seen = 0;
  /** How long the previous turn was, and the processor time at its end; undefined if it was short. */
  #before: { readonly length: number; readonly worked: number } | undefined;
  /** Set while the queue is kept short, which ends when the loop has time to spare. */
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

  /** Undefined admits the request; `leave` must then be called when it completes. */
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
    return this.#inFlight >= this.#options.maxInFlight ? 'in_flight' : undefined;
  }

  #beginTurn(now: number): void {
    this.#turnSince = now;
    this.#eventLoop.atEndOfTurn(this.#endTurn);
    if (this.#spare === undefined) return;
    if (this.#spare.poll(now)) this.#spare = undefined;
    else if (now - this.#pace.since > PACE_MS) this.#setPace(now);
  }

  /** Little's law: requests in flight, at the pace at which requests complete, give the wait. */
  #setPace(now: number): void {
    const { since, ended } = this.#pace;
    this.#shortQueue = Math.max(FEWEST_IN_FLIGHT, (SHORT_QUEUE_MS * (this.#ended - ended)) / (now - since));
    this.#pace = { since: now, ended: this.#ended };
  }

  /** Whether the queue is longer than it was in the turn before, and than it may be: then it is kept short. */
  #isTooLate(now: number, elapsed: number): boolean {
    if (!this.#areMany()) return false;
    if (this.#eventLoop.queued() <= this.#options.maxEventLoopDelayMs && !this.#isGrowing(elapsed)) return false;
    this.#spare = new SpareTime(this.#eventLoop, now);
    this.#pace = { since: now, ended: this.#ended };
    this.#shortQueue = FEWEST_IN_FLIGHT;
    return true;
  }

  /** Whether the running turn is long, and longer than the one before. */
  #isGrowing(elapsed: number): boolean {
    if (this.#before === undefined) return false;
    const { maxEventLoopDelayMs } = this.#options;
    const { length, worked } = this.#before;
    return elapsed > Math.max(maxEventLoopDelayMs, length) && this.#eventLoop.worked() - worked > maxEventLoopDelayMs;
  }

  /** Whether the turn has admitted as much as a short queue may hold. */
  #hasEnough(elapsed: number): boolean {
    return elapsed > SHORT_TURN_MS || this.#inFlight >= this.#shortQueue;
  }

  #areMany(): boolean {
    return this.#seen >= FEW || this.#inFlight >= FEW;
  }

  #onTurnEnd(): void {
    const now = this.#options.clock.monotonic();
    const length = now - (this.#turnSince ?? now);
    // Responses of a store are read after all requests of the turn have been seen.
    if (!this.#spare) this.#isTooLate(now, length);
    const long = length > SHORT_TURN_MS && this.#areMany();
    this.#before = long ? { length, worked: this.#eventLoop.worked() } : undefined;
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
 * @param always request targets that are admitted however busy the service is: readiness must not fail with load, or
 * a load balancer would move it to the other replicas until none is left
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
