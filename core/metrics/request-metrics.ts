/** What is counted of every request: a few additions, and look-ups by references instead of by names. */
import type { ServiceContext } from '../http/request-state.js';
import { Counter, type Distribution, Histogram, type Metric } from './metric.js';

/** Seconds. Kept answers take well under a millisecond, a store's timeout some seconds. */
const LATENCY_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** The route of requests that no route answers: their addresses are as many as an attacker likes. */
const NO_ROUTE = 'none';

export class RequestMetrics {
  readonly #duration = new Histogram(
    'http_request_duration_seconds',
    'From the head of a request being read to its answer being written, by route pattern and status.',
    LATENCY_BOUNDS,
  );
  readonly #byAddress = new Map<object | undefined, (Distribution | undefined)[]>();
  readonly #cache = new Counter('response_cache_requests_total', 'Answers that were kept ready, or were not.');
  readonly #limiter = new Counter('limiter_decisions_total', 'Requests that the limiter let pass, or refused.');
  readonly #credentials = new Counter('authentications_total', 'Requests with a valid key, an invalid one, or none.');
  readonly #hits = this.#cache.of({ result: 'hit' });
  readonly #misses = this.#cache.of({ result: 'miss' });
  readonly #allowed = this.#limiter.of({ decision: 'allowed' });
  readonly #refused = this.#limiter.of({ decision: 'refused' });
  readonly #valid = this.#credentials.of({ result: 'valid' });
  readonly #invalid = this.#credentials.of({ result: 'invalid' });
  readonly #none = this.#credentials.of({ result: 'none' });

  readonly metrics: readonly Metric[] = [this.#duration, this.#cache, this.#limiter, this.#credentials];

  readonly observe = ({ res, state }: ServiceContext): void => {
    const { match, decision, caller, cacheHit, snapshotVersion, durationMs } = state;
    this.#distribution(match?.address, res.statusCode).observe(durationMs / 1000);
    if (decision) (decision.allowed ? this.#allowed : this.#refused).add();
    (caller?.key ? this.#valid : state.invalidKey ? this.#invalid : this.#none).add();
    if (snapshotVersion !== undefined) (cacheHit ? this.#hits : this.#misses).add();
  };

  #distribution(address: { readonly pattern: string } | undefined, status: number): Distribution {
    let byStatus = this.#byAddress.get(address);
    if (!byStatus) {
      byStatus = [];
      this.#byAddress.set(address, byStatus);
    }
    let distribution = byStatus[status];
    if (!distribution) {
      distribution = this.#duration.of({ route: address?.pattern ?? NO_ROUTE, status: String(status) });
      byStatus[status] = distribution;
    }
    return distribution;
  }
}
