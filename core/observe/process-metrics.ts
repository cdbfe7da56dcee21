/** Metrics of the process: processor time, memory, open files, log lines and the delay of its event loop. */
import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { droppedLogLines } from './logger.js';
import { type Metric, Reader } from './metric.js';

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
/** The monitor measures how late a timer of this many milliseconds fires. */
const RESOLUTION_MS = 10;

const openFiles = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    // Only Linux has /proc.
    return undefined;
  }
};

/** @returns the metrics, and a function that ends the measurement of the event loop */
export const processMetrics = (): { readonly metrics: readonly Metric[]; stop(): void } => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const startedAt = Date.now() / 1000 - process.uptime();
  const gauge = (name: string, help: string, read: Reader['read']) => new Reader('gauge', name, help, read);
  return {
    metrics: [
      new Reader('summary', 'nodejs_eventloop_delay_seconds', 'How late timers were since the last scrape.', () => {
        if (delay.count === 0) return undefined;
        const late = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000);
        const readings = [0.5, 0.9, 0.99].map(
          (q) => [{ quantile: String(q) }, late(delay.percentile(q * 100))] as const,
        );
        const all = [...readings, [{ quantile: '1' }, late(delay.max)] as const];
        delay.reset();
        return all;
      }),
      new Reader('counter', 'process_cpu_seconds_total', 'User and system time.', () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / MICROSECONDS;
      }),
      gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.', () => startedAt),
      gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss()),
      gauge('nodejs_heap_used_bytes', 'Used JavaScript heap.', () => process.memoryUsage().heapUsed),
      gauge('process_open_fds', 'Open file descriptors.', openFiles),
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
