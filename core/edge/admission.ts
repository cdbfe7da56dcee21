/**
 * Rejects requests that exceed the capacity of the service, so that the latency of admitted requests does not grow.
 *
 * There are two signs of overload. The first is too many requests in flight, which wait for a store. The second is that
 * turns of the event loop get longer. A single long turn is just a burst. If an even longer turn follows, more requests
 * arrive during a turn than a turn can handle. From then on, each turn admits the requests that it reaches within a few
 * milliseconds and rejects the others, until the event loop is idle part of the time again. This algorithm is based on
 * CoDel (RFC 8289). Turns are measured in processor time of this process, because other processes make turns longer
 * too.
 *
 * Requests in a work queue do not count as in flight. They wait for other requests of their caller or for their client
 * to read a list, and the queues have their own bounds.
 *
 * Admission runs before the Koa application, because rejecting a request must cost only a fraction of a response. It
 * does not ask the limiter, and it logs one line per overload rather than one per request.
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
  /** The work queues. Their requests do not count as in flight. */
  readonly work: { readonly responses: { readonly size: number }; readonly lists: { readonly size: number } };
  /** Can be replaced in tests. Default: Node's event loop. */
  readonly eventLoop?: EventLoop;
}

type Overload = 'in_flight' | 'event_loop_delay';

/** With fewer concurrent requests than this there is no overload, no matter how long they take. */
const FEW = 16;
/** During an overload, each turn admits requests for this long. */
const SHORT_TURN_MS = 2;
/** During an overload, the number of requests in flight is limited to those completed in this time, but at least 1. */
const SHORT_QUEUE_MS = 4;
const FEWEST_IN_FLIGHT = 1;
/** How often the rate at which requests complete is measured. */
const PACE_MS = 50;
/** The log reports the end of an overload once no request has been rejected for this long. */
const CALM_MS = 1000;

export class Admission {
  readonly refused: Record<Overload, number> = { in_flight: 0, event_loop_delay: 0 };
  readonly #options: AdmissionOptions;
  readonly #eventLoop: EventLoop;
  readonly #endTurn = () => this.#onTurnEnd();
  #inFlight = 0;
  /** The number of completed requests, and the last measurement of the rate at which they complete. */
  #ended = 0;
  #pace = { since: 0, ended: 0 };
  /** The maximum number of requests in flight during an overload. */
  #shortQueue = FEWEST_IN_FLIGHT;
  /** When the first request of the current turn arrived. */
  #turnSince: number | undefined;
  /** The number of requests in the current turn. */
  #seen = 0;
  /** The length of the previous turn and the processor time at its end. Undefined if that turn was short. */
  #previousTurn: { readonly length: number; readonly worked: number } | undefined;
  /** Set during an overload. It detects when the event loop is idle part of the time, which ends the overload. */
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

  /** The requests in flight that are not in a work queue. */
  get #counted(): number {
    const { responses, lists } = this.#options.work;
    return this.#inFlight - responses.size - lists.size;
  }

  /** Returns undefined if the request is admitted. Call `leave` when an admitted request completes. */
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

  /**
   * By Little's law, the waiting time is the number of requests in flight divided by the rate at which they complete.
   */
  #setPace(now: number): void {
    const { since, ended } = this.#pace;
    this.#shortQueue = Math.max(FEWEST_IN_FLIGHT, (SHORT_QUEUE_MS * (this.#ended - ended)) / (now - since));
    this.#pace = { since: now, ended: this.#ended };
  }

  /** Whether an overload has begun. */
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

  /** Whether the current turn has admitted as many requests as the overload allows. */
  #hasEnough(elapsed: number): boolean {
    return elapsed > SHORT_TURN_MS || this.#counted >= this.#shortQueue;
  }

  #areMany(): boolean {
    return this.#seen >= FEW || this.#counted >= FEW;
  }

  #onTurnEnd(): void {
    const now = this.#options.clock.monotonic();
    const length = now - (this.#turnSince ?? now);
    // After all of its requests have arrived, a turn also reads the responses of a store, which can make it too long.
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
      this.#options.logger.warn({ overload, inFlight: this.#inFlight }, 'overloaded: rejecting requests with 503');
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
 * @param always request targets that are always admitted, even during an overload. If readiness checks failed under
 *   load, a load balancer would shift the load to the remaining replicas until all of them failed
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
