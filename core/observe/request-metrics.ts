/** Counts requests. This code runs on every request, so it keeps references to the series. */
import type { Tier } from '../config/tiers.js';
import type { ApiContext } from '../pipeline/api-koa.js';
import { Counter, Family, inBraces, type Metric, numeral } from './metric.js';

/**
 * The bounds of the latency histogram in seconds. Cached responses take far less than 1 ms, and store timeouts take
 * several seconds.
 */
export const LATENCY_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export class Distribution {
  sum = 0;
  count = 0;
  readonly counts: Float64Array;
  readonly #bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += value;
    this.count++;
  }
}

export class Histogram extends Family<Distribution> implements Metric {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  constructor(name: string, help: string, bounds: readonly number[]) {
    super(name, help, () => new Distribution(bounds));
    this.#bounds = bounds;
  }

  *lines(): Generator<string> {
    for (const { labels, series } of this.entries()) {
      let below = 0;
      for (const [i, bound] of [...this.#bounds, Number.POSITIVE_INFINITY].entries()) {
        below += series.counts[i]!;
        yield `${this.name}_bucket${inBraces(labels, `le="${numeral(bound)}"`)} ${below}`;
      }
      yield `${this.name}_sum${inBraces(labels)} ${numeral(series.sum)}`;
      yield `${this.name}_count${inBraces(labels)} ${series.count}`;
    }
  }
}

/** All requests without a route share this label. With a label per URL, clients could create any number of series. */
const NO_ROUTE = 'none';
const NO_TIER = 'none';

export class RequestMetrics {
  readonly #duration = new Histogram(
    'http_request_duration_seconds',
    'Time from receiving the request headers to writing the response, or to the start of a stream or large response, by route pattern and status.',
    LATENCY_BOUNDS,
  );
  readonly #byEndpoint = new Map<object | undefined, (Distribution | undefined)[]>();
  readonly #cache = new Counter(
    'response_cache_requests_total',
    'Responses of data routes, by response cache hit or miss.',
  );
  readonly #limiter = new Counter('limiter_decisions_total', 'Requests that the limiter allowed or rejected, by tier.');
  readonly #credentials = new Counter(
    'authentications_total',
    'Requests, by whether their key is valid, invalid or missing.',
  );
  readonly #hits = this.#cache.of({ result: 'hit' });
  readonly #misses = this.#cache.of({ result: 'miss' });
  readonly #byTier = new Map<Tier | undefined, ReturnType<typeof this.decisionsOf>>();
  readonly #valid = this.#credentials.of({ result: 'valid' });
  readonly #invalid = this.#credentials.of({ result: 'invalid' });
  readonly #none = this.#credentials.of({ result: 'none' });
  readonly #errors = new Counter(
    'http_server_errors_total',
    'Responses with status 500 or 503, except from endpoints without a limit, such as /health.',
  );
  readonly #failed = this.#errors.of({ status: '500' });
  readonly #rejected = this.#errors.of({ status: '503' });

  readonly #timeouts = new Counter(
    'read_timeouts_total',
    'Responses with status 503 because the reads took longer than `http.answerMs`.',
  );
  readonly #timedOut = this.#timeouts.of();

  readonly metrics: readonly Metric[] = [
    this.#duration,
    this.#errors,
    this.#timeouts,
    this.#cache,
    this.#limiter,
    this.#credentials,
  ];

  constructor() {
    // Creates the series now, because alerts cannot be evaluated on a missing series.
    this.#distribution(undefined, 404);
    this.decisionsOf(undefined);
  }

  private decisionsOf(tier: Tier | undefined) {
    const name = tier?.name ?? NO_TIER;
    const series = {
      allowed: this.#limiter.of({ decision: 'allowed', tier: name }),
      refused: this.#limiter.of({ decision: 'refused', tier: name }),
    };
    this.#byTier.set(tier, series);
    return series;
  }

  readonly observe = ({ res, requestState: state }: ApiContext): void => {
    const { match, decision, caller, cacheHit, snapshotVersion, durationMs } = state;
    this.#distribution(match?.endpoint, res.statusCode).observe(durationMs / 1000);
    if (res.statusCode >= 500 && match?.endpoint?.limited !== false) {
      if (res.statusCode === 500) this.#failed.value++;
      else if (res.statusCode === 503) this.#rejected.value++;
    }
    if (state.isReadTimeout) this.#timedOut.value++;
    if (decision) {
      const { allowed, refused } = this.#byTier.get(caller?.tier) ?? this.decisionsOf(caller?.tier);
      (decision.allowed ? allowed : refused).value++;
    }
    (caller?.key ? this.#valid : state.invalidIdentity ? this.#invalid : this.#none).value++;
    if (snapshotVersion !== undefined) (cacheHit ? this.#hits : this.#misses).value++;
  };

  #distribution(endpoint: { readonly pattern: string } | undefined, status: number): Distribution {
    let byStatus = this.#byEndpoint.get(endpoint);
    if (!byStatus) {
      byStatus = [];
      this.#byEndpoint.set(endpoint, byStatus);
    }
    let distribution = byStatus[status];
    if (!distribution) {
      distribution = this.#duration.of({ route: endpoint?.pattern ?? NO_ROUTE, status: String(status) });
      byStatus[status] = distribution;
    }
    return distribution;
  }
}
