import type { Config } from '../config/schema.js';
import type { Manifest, Source } from '../contracts/dataset.js';
import type { ServiceState } from '../contracts/plugin.js';
import { ageIn } from '../data/period.js';
import type { Admission } from '../edge/admission.js';
import type { EdgeEvent } from '../edge/server.js';
import type { ApiContext } from '../pipeline/api-koa.js';
import type { ResponseCache } from '../routes/response-cache.js';
import type { WorkQueues } from '../routes/work-queue.js';
import { isWorker } from '../util/is-worker.js';
import { Counter, exposition, type Metric, Reader } from './metric.js';
import { type MetricsServer, serveMetrics } from './metrics-server.js';
import { processMetrics } from './process-metrics.js';
import { reloadMetrics } from './reload-metrics.js';
import { type Distribution, Histogram, LATENCY_BOUNDS, RequestMetrics } from './request-metrics.js';

export interface Metrics {
  observeRequest(ctx: ApiContext): void;
  observeEdge(event: EdgeEvent): void;
  storeCalls(store: string): Distribution;
  read(): string;
  listen(): Promise<MetricsServer>;
  close(): Promise<void>;
}

export const createMetrics = (config: Config['metrics'], service: ServiceMetricsOptions): Metrics | null => {
  if (!config) return null;
  const requests = new RequestMetrics();
  const edge = edgeMetrics();
  const stores = new Histogram(
    'store_call_duration_seconds',
    'Duration of Redis calls by the limiter and the cache, and of reads from MongoDB.',
    LATENCY_BOUNDS,
  );
  // The series is created at startup, because alerts cannot be evaluated on a missing series.
  stores.of({ store: 'redis' });
  const ofProcess = processMetrics();
  const all: readonly Metric[] = [
    ...requests.metrics,
    edge.metric,
    stores,
    ...serviceMetrics(service),
    ...ofProcess.metrics,
  ];
  const read = () => exposition(all) + (isWorker() ? '' : reloadMetrics());
  const servers: Promise<MetricsServer>[] = [];
  return {
    observeRequest: requests.observe,
    observeEdge: edge.observe,
    storeCalls: (store) => stores.of({ store }),
    read,
    listen() {
      const server = serveMetrics(config, read);
      servers.push(server);
      return server;
    },
    async close() {
      ofProcess.stop();
      for (const server of servers) await (await server.catch(() => undefined))?.close();
    },
  };
};

interface ServiceMetricsOptions {
  readonly state: () => Pick<ServiceState, 'now' | 'health' | 'snapshot' | 'draining'>;
  readonly responses: () => Pick<ResponseCache, 'bytes' | 'size'> | undefined;
  /** Null if admission control is disabled. */
  readonly admission: Admission | null;
  readonly work: WorkQueues;
}

/** Zeros to report while admission control is disabled, so that queries over these series still work. */
const NONE_REJECTED: Admission['rejected'] = { in_flight: 0, event_loop_delay: 0 };

const gauge = (name: string, help: string, read: Reader['read']) => new Reader('gauge', name, help, read);

const serviceMetrics = ({ state, responses, admission, work }: ServiceMetricsOptions): readonly Metric[] => {
  const ofSources = (
    name: string,
    help: string,
    read: (source: Source, now: Date, manifest: Manifest) => number | null,
  ) =>
    gauge(name, help, () => {
      const { snapshot, now } = state();
      return (snapshot?.manifest.sources ?? []).map(
        (source) => [{ source: source.id }, read(source, now, snapshot!.manifest) ?? undefined] as const,
      );
    });
  return [
    gauge(
      'part_up',
      '1 if the part (storage, limiter, cache or keys) works as configured. A limiter at 0 works without Redis.',
      () => Object.entries(state().health).map(([part, { ok }]) => [{ part }, Number(ok)] as const),
    ),
    gauge('snapshot_info', 'The version of the served snapshot.', () => {
      const { snapshot } = state();
      return snapshot ? [[{ version: snapshot.version }, 1] as const] : [];
    }),
    gauge('snapshot_age_seconds', 'Seconds since the served snapshot was published.', () => {
      const { snapshot, now } = state();
      return snapshot && (now.getTime() - snapshot.publishedAt.getTime()) / 1000;
    }),
    ofSources('source_age_seconds', "Seconds since the end of the source's newest period.", (source, now, manifest) =>
      ageIn(manifest, source, now),
    ),
    ofSources(
      'source_late_after_seconds',
      'Age in seconds at which the source counts as late.',
      (source) => source.late_after_seconds,
    ),
    ofSources(
      'source_stale_after_seconds',
      'Age in seconds at which the source counts as stale.',
      (source) => source.stale_after_seconds,
    ),
    gauge('response_cache_bytes', 'Size of the cached representations.', () => responses()?.bytes),
    gauge('response_cache_entries', 'Number of cached representations.', () => responses()?.size),
    gauge('http_requests_in_flight', 'Requests in flight.', () => admission?.inFlight),
    gauge(
      'http_requests_queued',
      'Requests in flight whose responses are not cached, whether waiting or being computed.',
      () => work.responses.size + work.lists.size,
    ),
    new Reader(
      'counter',
      'overload_refused_requests_total',
      'Requests rejected with 503 because of overload, by the exceeded limit.',
      () =>
        Object.entries({
          ...(admission?.rejected ?? NONE_REJECTED),
          queue_full: work.responses.rejected + work.lists.rejected,
        }).map(([overload, count]) => [{ overload }, count] as const),
    ),
    gauge('service_draining', 'Whether the service is shutting down.', () => Number(state().draining)),
  ];
};

const EDGE_EVENTS: readonly EdgeEvent[] = [
  'malformed',
  'timeout',
  'unread',
  'too_many_connections',
  'too_many_connections_of_address',
];

const edgeMetrics = (): { readonly metric: Metric; observe(event: EdgeEvent): void } => {
  const metric = new Counter(
    'http_edge_refusals_total',
    'Requests and connections rejected before they reached a route, by reason.',
  );
  // All series are created at startup, because `rate` in Prometheus needs a zero before the first event.
  const counts = new Map(EDGE_EVENTS.map((reason) => [reason, metric.of({ reason })]));
  return {
    metric,
    observe(event) {
      counts.get(event)!.value++;
    },
  };
};
