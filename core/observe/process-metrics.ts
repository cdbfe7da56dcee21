import { constants, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { onGarbageCollection } from '../util/garbage-collection.js';
import { maxOpenFiles, openFiles } from '../util/open-files.js';
import { packageVersion } from '../util/package.js';
import { droppedLogLines } from './logger.js';
import { type Metric, Reader } from './metric.js';
import { Histogram } from './request-metrics.js';

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
const RESOLUTION_MS = 10;

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};
const GC_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1] as const;

const observeCollections = (): { readonly metric: Metric; stop(): void } => {
  const metric = new Histogram('nodejs_gc_duration_seconds', 'Duration of garbage collections, by kind.', GC_BOUNDS);
  for (const kind of Object.values(GC_KINDS)) metric.of({ kind });
  const stop = onGarbageCollection(({ detail, duration }) => {
    const kind = GC_KINDS[detail.kind];
    if (kind !== undefined) metric.of({ kind }).observe(duration / 1000);
  });
  return { metric, stop };
};

export const processMetrics = (): { readonly metrics: readonly Metric[]; stop(): void } => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const collections = observeCollections();
  let utilization = performance.eventLoopUtilization();
  const startedAt = Date.now() / 1000 - process.uptime();
  const maxFiles = maxOpenFiles();
  return {
    metrics: [
      new Reader('gauge', 'build_info', 'Versions of the service and of Node, as labels.', () => [
        [{ version: packageVersion, node: process.versions.node }, 1],
      ]),
      collections.metric,
      new Reader(
        'gauge',
        'nodejs_eventloop_utilization_ratio',
        'Share of time that the event loop was busy since the last scrape.',
        () => {
          const since = utilization;
          utilization = performance.eventLoopUtilization();
          return performance.eventLoopUtilization(utilization, since).utilization;
        },
      ),
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
      new Reader(
        'counter',
        'process_cpu_seconds_total',
        'CPU time used by the process in user and system mode, in seconds.',
        () => {
          const { user, system } = process.cpuUsage();
          return (user + system) / MICROSECONDS;
        },
      ),
      new Reader(
        'gauge',
        'process_start_time_seconds',
        'When the process started, in seconds since 1970.',
        () => startedAt,
      ),
      new Reader('gauge', 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss()),
      new Reader('gauge', 'nodejs_heap_used_bytes', 'Used JavaScript heap.', () => process.memoryUsage().heapUsed),
      new Reader('gauge', 'process_open_fds', 'Open file descriptors.', openFiles),
      new Reader('gauge', 'process_max_fds', 'Maximum number of open file descriptors.', () => maxFiles),
      new Reader(
        'counter',
        'log_lines_dropped_total',
        'Log lines dropped because standard error was full or not read.',
        droppedLogLines,
      ),
    ],
    stop() {
      delay.disable();
      collections.stop();
    },
  };
};
