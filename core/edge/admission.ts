/**
 * Rejects requests while the service is overloaded, so that admitted requests still get fast responses. The service is
 * overloaded if too many requests are in flight. Requests in a work queue do not count, because the queues have their
 * own limits. Neither do responses whose body is already being sent. The service is also overloaded if a turn of the
 * event loop is too long, and longer than the turn before it. During the overload, each turn admits requests for only a
 * few milliseconds, until the event loop is idle again (based on CoDel, RFC 8289). Long turns must also use CPU time,
 * because other processes can delay the event loop. Rejecting a request must be much cheaper than serving it. Admission
 * therefore runs before Koa and the limiter, and logs once per overload.
 */
import type { Config } from '../config/schema.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import { rejection } from '../response/error-response.js';
import type { CommonHeaders } from '../response/headers.js';
import { type EventLoop, nodeEventLoop, SpareTime } from '../util/event-loop.js';
import type { Handle } from './accept.js';

interface AdmissionOptions extends NonNullable<Config['server']['overload']> {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly work: { readonly queuedOrAbandoned: number };
  readonly eventLoop?: EventLoop;
}

type Overload = 'in_flight' | 'event_loop_delay';

/**
 * A long turn of the event loop is an overload only if at least this many requests arrived in the turn or are in
 * flight.
 */
const FEW = 16;
const SHORT_TURN_MS = 2;
/** During an overload, the service admits only as many requests as it can complete in this time. */
const SHORT_QUEUE_MS = 4;
const FEWEST_IN_FLIGHT = 1;
const PACE_MS = 50;
const CALM_MS = 1000;

export class Admission {
  readonly refused: Record<Overload, number> = { in_flight: 0, event_loop_delay: 0 };
  readonly #options: AdmissionOptions;
  readonly #eventLoop: EventLoop;
  readonly #endTurn = () => this.#onTurnEnd();
  #inFlight = 0;
  #ended = 0;
  #pace = { since: 0, ended: 0 };
  #shortQueue = FEWEST_IN_FLIGHT;
  #turnSince: number | undefined;
  #seen = 0;
  /** Undefined if the previous turn was short. `worked` is the total CPU time when that turn ended. */
  #previousTurn: { readonly length: number; readonly worked: number } | undefined;
  /** Set only during an overload, which ends when the event loop has idle time again. */
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

  get #counted(): number {
    return this.#inFlight - this.#options.work.queuedOrAbandoned;
  }

  /** Returns undefined if the request is admitted. The caller must then call `leave` when the request completes. */
  enter(): Overload | undefined {
    const now = this.#options.clock.monotonic();
    const overload = this.#overload(now);
    if (overload === undefined) this.#inFlight++;
    else this.#reject(overload, now);
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

  #setPace(now: number): void {
    const { since, ended } = this.#pace;
    this.#shortQueue = Math.max(FEWEST_IN_FLIGHT, (SHORT_QUEUE_MS * (this.#ended - ended)) / (now - since));
    this.#pace = { since: now, ended: this.#ended };
  }

  #isTooLate(now: number, elapsed: number): boolean {
    if (!this.#areMany() || !this.#isGrowing(elapsed)) return false;
    this.#spare = new SpareTime(this.#eventLoop, now);
    this.#pace = { since: now, ended: this.#ended };
    this.#shortQueue = FEWEST_IN_FLIGHT;
    return true;
  }

  /** Returns true if this turn is even longer than the previous one, which means that requests are queueing up. */
  #isGrowing(elapsed: number): boolean {
    if (this.#previousTurn === undefined) return false;
    const { maxEventLoopDelayMs } = this.#options;
    const { length, worked } = this.#previousTurn;
    return elapsed > Math.max(maxEventLoopDelayMs, length) && this.#eventLoop.worked() - worked > maxEventLoopDelayMs;
  }

  #hasEnough(elapsed: number): boolean {
    return elapsed > SHORT_TURN_MS || this.#counted >= this.#shortQueue;
  }

  #areMany(): boolean {
    return this.#seen >= FEW || this.#counted >= FEW;
  }

  #onTurnEnd(): void {
    const now = this.#options.clock.monotonic();
    const length = now - (this.#turnSince ?? now);
    // A turn can become too long after its last request, for example while it reads responses from stores.
    if (!this.#spare) this.#isTooLate(now, length);
    const long = length > SHORT_TURN_MS && this.#areMany();
    this.#previousTurn = long ? { length, worked: this.#eventLoop.worked() } : undefined;
    this.#turnSince = undefined;
    this.#seen = 0;
    if (this.#lastRefusal !== undefined && now - this.#lastRefusal > CALM_MS) this.#calm();
  }

  #reject(overload: Overload, now: number): void {
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
const REJECTED = Promise.resolve();

/**
 * @param exempt request targets that are never rejected, such as readiness checks. If a check failed, a load balancer
 *   would move load to other replicas
 */
export const admitting = (
  admission: Admission,
  exempt: ReadonlySet<string>,
  headers: CommonHeaders,
  handle: Handle,
): Handle => {
  const { toRequest } = rejection(new ApiError(errors.service_unavailable), headers, {
    more: { 'Retry-After': RETRY_AFTER_SECONDS },
    close: false,
  });
  const leave = () => admission.leave();
  return (request, response) => {
    if (exempt.has(request.url ?? '')) return handle(request, response);
    if (admission.enter() === undefined) return handle(request, response, leave);
    toRequest(request, response);
    return REJECTED;
  };
};
