/** All metrics of a service, and the server for them. Most are read at each scrape. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Config } from '../config/schema.js';
import type { Source } from '../contracts/dataset.js';
import type { ServiceState } from '../contracts/plugin.js';
import { ageOf } from '../data/period.js';
import type { Admission } from '../edge/admission.js';
import type { EdgeEvent } from '../edge/server.js';
import type { ServiceContext } from '../pipeline/service-koa.js';
import type { ResponseCache } from '../routes/response-cache.js';
import type { WorkQueues } from '../routes/work-queue.js';
import { maxOpenFiles, openFiles } from '../util/open-files.js';
import { droppedLogLines } from './logger.js';
import { Counter, exposition, type Metric, Reader } from './metric.js';
import { type MetricsServer, serveMetrics } from './metrics-server.js';
import { RequestMetrics } from './request-metrics.js';

export interface Metrics {
  observeRequest(ctx: ServiceContext): void;
  observeEdge(event: EdgeEvent): void;
  /** Returns all metrics in the text format of Prometheus, for `/metrics`. */
  read(): string;
  /** @returns the URL; rejects if the port is in use */
  listen(): Promise<string>;
  close(): Promise<void>;
}

/** Null if the configuration disables metrics. Then nothing is counted. */
export const createMetrics = (config: Config['metrics'], service: ServiceMetricsOptions): Metrics | null => {
  if (!config) return null;
  const requests = new RequestMetrics();
  const edge = edgeMetrics();
  const ofProcess = processMetrics();
  const all: readonly Metric[] = [...requests.metrics, edge.metric, ...serviceMetrics(service), ...ofProcess.metrics];
  const read = () => exposition(all);
  let server: Promise<MetricsServer> | undefined;
  return {
    observeRequest: requests.observe,
    observeEdge: edge.observe,
    read,
    async listen() {
      server = serveMetrics(config, read);
      return (await server).url;
    },
    async close() {
      ofProcess.stop();
      await (await server?.catch(() => undefined))?.close();
    },
  };
};

interface ServiceMetricsOptions {
  readonly state: () => Pick<ServiceState, 'now' | 'health' | 'snapshot' | 'draining'>;
  /** Of the current snapshot. */
  readonly responses: () => Pick<ResponseCache, 'bytes' | 'size'> | undefined;
  /** Null if admission control is disabled. */
  readonly admission: Admission | null;
  readonly work: WorkQueues;
}

/** The series of a service without admission control, since sums over several series need them. */
const NONE_REFUSED: Admission['refused'] = { in_flight: 0, event_loop_delay: 0 };

const gauge = (name: string, help: string, read: Reader['read']) => new Reader('gauge', name, help, read);

const serviceMetrics = ({ state, responses, admission, work }: ServiceMetricsOptions): readonly Metric[] => {
  /** One series for each source of the served snapshot. */
  const ofSources = (name: string, help: string, read: (source: Source, now: Date) => number | null) =>
    gauge(name, help, () => {
      const { snapshot, now } = state();
      return (snapshot?.manifest.sources ?? []).map(
        (source) => [{ source: source.id }, read(source, now) ?? undefined] as const,
      );
    });
  return [
    gauge(
      'part_up',
      'Whether storage, limiter, cache and keys work as configured. At 0, the limiter works without Redis.',
      () => Object.entries(state().health).map(([part, { ok }]) => [{ part }, Number(ok)] as const),
    ),
    gauge('snapshot_info', 'The version that is served.', () => {
      const { snapshot } = state();
      return snapshot ? [[{ version: snapshot.version }, 1] as const] : [];
    }),
    gauge('snapshot_age_seconds', 'Seconds since the served snapshot was published.', () => {
      const { snapshot, now } = state();
      return snapshot && (now.getTime() - snapshot.publishedAt.getTime()) / 1000;
    }),
    ofSources('source_age_seconds', "Seconds since the end of the source's newest period.", (source, now) =>
      ageOf(source, now),
    ),
    ofSources(
      'source_late_after_seconds',
      'Age in seconds from which the source is late.',
      (source) => source.late_after_seconds,
    ),
    ofSources(
      'source_stale_after_seconds',
      'Age in seconds from which the source is stale.',
      (source) => source.stale_after_seconds,
    ),
    gauge('response_cache_bytes', 'Size of the cached representations.', () => responses()?.bytes),
    gauge('response_cache_entries', 'Number of cached representations.', () => responses()?.size),
    gauge('http_requests_in_flight', 'Requests in flight.', () => admission?.inFlight),
    gauge(
      'http_requests_queued',
      'Requests in flight whose responses are not cached.',
      () => work.responses.size + work.lists.size,
    ),
    new Reader('counter', 'overload_refused_requests_total', 'Requests rejected with 503, by the exceeded limit.', () =>
      Object.entries({
        ...(admission?.refused ?? NONE_REFUSED),
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

/** Connections and requests that never reached a route. */
const edgeMetrics = (): { readonly metric: Metric; observe(event: EdgeEvent): void } => {
  const metric = new Counter(
    'http_edge_refusals_total',
    'Requests and connections rejected before any route, by reason.',
  );
  // All series exist from the start: a rate needs the zero before the first event.
  const counts = new Map(EDGE_EVENTS.map((reason) => [reason, metric.of({ reason })]));
  return {
    metric,
    observe(event) {
      counts.get(event)!.value++;
    },
  };
};

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
/** The monitor measures how late a timer of this many milliseconds fires. */
const RESOLUTION_MS = 10;

/** @returns the metrics, and a function that ends the measurement of the event loop */
const processMetrics = (): { readonly metrics: readonly Metric[]; stop(): void } => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const startedAt = Date.now() / 1000 - process.uptime();
  const maxFiles = maxOpenFiles();
  return {
    metrics: [
      new Reader('summary', 'nodejs_eventloop_delay_seconds', 'Delay of the event loop since the last scrape.', () => {
        if (delay.count === 0) return undefined;
        const late = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000);
        const readings = [0.5, 0.9, 0.99].map(
          (q) => [{ quantile: String(q) }, late(delay.percentile(q * 100))] as const,
        );
        const all = [...readings, [{ quantile: '1' }, late(delay.max)] as const];
        delay.reset();
        return all;
      }),
      new Reader('counter', 'process_cpu_seconds_total', 'CPU time of the process, in user and system mode.', () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / MICROSECONDS;
      }),
      gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.', () => startedAt),
      gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss()),
      gauge('nodejs_heap_used_bytes', 'Used JavaScript heap.', () => process.memoryUsage().heapUsed),
      gauge('process_open_fds', 'Open file descriptors.', openFiles),
      gauge('process_max_fds', 'Maximum number of open file descriptors.', () => maxFiles),
      new Reader(
        'counter',
        'log_lines_dropped_total',
        'Log lines dropped because standard error was full or not read.',
        droppedLogLines,
      ),
    ],
    stop: () => delay.disable(),
  };
};
