/** Counts how often the configuration was read again. With workers, only the primary process reads and counts. */
import { Counter, exposition, Reader } from './metric.js';

const reloads = new Counter('config_reloads_total', 'How often the configuration was read again, by result.');
const counts = { success: reloads.of({ result: 'success' }), failure: reloads.of({ result: 'failure' }) };
let lastSuccess = Date.now();

export const countReload = (result: keyof typeof counts): void => {
  counts[result].value++;
  if (result === 'success') lastSuccess = Date.now();
};

const metrics = [
  reloads,
  new Reader(
    'gauge',
    'config_last_reload_success_timestamp_seconds',
    'When the running configuration was read, in seconds since 1970.',
    () => lastSuccess / 1000,
  ),
];

/** These metrics in the text format of Prometheus. */
export const reloadMetrics = (): string => exposition(metrics);
