/** Counts configuration reloads. With several workers, only the primary process reloads the configuration. */
import { Counter, exposition, Reader } from './metric.js';

const reloads = new Counter('config_reloads_total', 'Number of configuration reloads, by result.');
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
    'Time at which the running configuration was loaded, in seconds since 1970.',
    () => lastSuccess / 1000,
  ),
];

export const reloadMetrics = (): string => exposition(metrics);
