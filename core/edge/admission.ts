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
/** The pace is the number of requests completed per millisecond. It is measured this often during an overload. */
const PACE_MS = 50;
/** The end of an overload is logged after this time without a rejection. */
const CALM_MS = 1000;

/** State during an overload of the event loop. */
interface LoopOverload {
  /** Shows when the event loop has idle time again, which ends the overload. */
  readonly spareTime: SpareTime;
  /** The start of the current measurement of the pace, and the number of requests completed before it. */
  measuredFrom: { readonly time: number; readonly completed: number };
  /** The number of requests that the service completes in `SHORT_QUEUE_MS`, by the last measurement. */
  mostCounted: number;
}

export class Admission {
  readonly rejected: Record<Overload, number> = { in_flight: 0, event_loop_delay: 0 };
  readonly #options: AdmissionOptions;
  readonly #eventLoop: EventLoop;
  readonly #endTurn = () => this.#onTurnEnd();
  #inFlight = 0;
  #completed = 0;
  /** Undefined until a request arrives in the turn. */
  #turnSince: number | undefined;
  #arrivedInTurn = 0;
  /** Undefined if the previous turn was short. `worked` is the total CPU time when that turn ended. */
  #previousTurn: { readonly length: number; readonly worked: number } | undefined;
  #loopOverload: LoopOverload | undefined;
  #lastRejection: number | undefined;
  #rejectedBefore = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#eventLoop = options.eventLoop ?? nodeEventLoop;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The requests that count as in flight. */
  get #counted(): number {
    return this.#inFlight - this.#options.work.queuedOrAbandoned;
  }

  /** Returns undefined if the request is admitted. The caller must then call `leave` when the request completes. */
  enter(): Overload | undefined {
    const now = this.#options.clock.monotonic();
    if (this.#turnSince === undefined) this.#beginTurn(now);
    const overload = this.#overloadAt(now);
    if (overload !== 'event_loop_delay') this.#arrivedInTurn++;
    if (overload === undefined) this.#inFlight++;
    else this.#countRejection(overload, now);
    return overload;
  }

  leave(): void {
    this.#inFlight--;
    this.#completed++;
  }

  #beginTurn(now: number): void {
    this.#turnSince = now;
    this.#eventLoop.atEndOfTurn(this.#endTurn);
    const overload = this.#loopOverload;
    if (!overload) return;
    if (overload.spareTime.poll(now)) this.#loopOverload = undefined;
    else if (now - overload.measuredFrom.time > PACE_MS) this.#measurePace(overload, now);
  }

  #measurePace(overload: LoopOverload, now: number): void {
    const { time, completed } = overload.measuredFrom;
    const perMs = (this.#completed - completed) / (now - time);
    overload.mostCounted = Math.max(FEWEST_IN_FLIGHT, SHORT_QUEUE_MS * perMs);
    overload.measuredFrom = { time: now, completed: this.#completed };
  }

  #overloadAt(now: number): Overload | undefined {
    const elapsed = now - this.#turnSince!;
    if (!this.#loopOverload && this.#isLoopOverloaded(elapsed)) this.#startLoopOverload(now);
    if (this.#loopOverload && this.#isTurnFull(this.#loopOverload, elapsed)) return 'event_loop_delay';
    return this.#counted >= this.#options.maxInFlight ? 'in_flight' : undefined;
  }

  /**
   * True if many requests make this turn too long, and longer than the previous turn. A growing turn means that
   * requests are queueing up.
   */
  #isLoopOverloaded(elapsed: number): boolean {
    if (this.#previousTurn === undefined || !this.#hasManyRequests()) return false;
    const { maxEventLoopDelayMs } = this.#options;
    const { length, worked } = this.#previousTurn;
    return elapsed > Math.max(maxEventLoopDelayMs, length) && this.#eventLoop.worked() - worked > maxEventLoopDelayMs;
  }

  #startLoopOverload(now: number): void {
    this.#loopOverload = {
      spareTime: new SpareTime(this.#eventLoop, now),
      measuredFrom: { time: now, completed: this.#completed },
      mostCounted: FEWEST_IN_FLIGHT,
    };
  }

  /** True if the turn must admit no further requests during an overload. */
  #isTurnFull({ mostCounted }: LoopOverload, elapsed: number): boolean {
    return elapsed > SHORT_TURN_MS || this.#counted >= mostCounted;
  }

  #hasManyRequests(): boolean {
    return this.#arrivedInTurn >= FEW || this.#counted >= FEW;
  }

  #onTurnEnd(): void {
    const now = this.#options.clock.monotonic();
    const length = now - this.#turnSince!;
    // A turn can become too long after its last request, for example while it reads responses from stores.
    if (!this.#loopOverload && this.#isLoopOverloaded(length)) this.#startLoopOverload(now);
    const isLong = length > SHORT_TURN_MS && this.#hasManyRequests();
    this.#previousTurn = isLong ? { length, worked: this.#eventLoop.worked() } : undefined;
    this.#turnSince = undefined;
    this.#arrivedInTurn = 0;
    if (this.#lastRejection !== undefined && now - this.#lastRejection > CALM_MS) this.#logEnd();
  }

  #countRejection(overload: Overload, now: number): void {
    if (this.#lastRejection === undefined) {
      this.#rejectedBefore = this.#allRejected();
      this.#options.logger.warn({ overload, inFlight: this.#inFlight }, 'overloaded: rejecting requests with 503');
    }
    this.rejected[overload]++;
    this.#lastRejection = now;
  }

  #logEnd(): void {
    this.#lastRejection = undefined;
    this.#options.logger.info({ rejected: this.#allRejected() - this.#rejectedBefore }, 'the overload is over');
  }

  #allRejected(): number {
    return this.rejected.in_flight + this.rejected.event_loop_delay;
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
