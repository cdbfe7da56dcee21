/** Puts the service's metrics together and serves them, where the config says so. */
import type { Config } from '../core/config/schema.js';
import type { ServiceContext } from '../core/http/request-state.js';
import type { EdgeEvent } from '../core/http/server.js';
import { exposition, type Metric } from '../core/metrics/metric.js';
import { processMetrics } from '../core/metrics/process-metrics.js';
import { RequestMetrics } from '../core/metrics/request-metrics.js';
import { type MetricsServer, serveMetrics } from '../core/metrics/server.js';
import { edgeMetrics, type ServiceMetricsOptions, serviceMetrics } from '../core/metrics/service-metrics.js';

export interface Metrics {
  observeRequest(ctx: ServiceContext): void;
  observeEdge(event: EdgeEvent): void;
  /** All metrics in the text format of Prometheus, as `/metrics` has them. */
  read(): string;
  /** @returns where they are served; rejects when the port is taken */
  listen(): Promise<string>;
  close(): Promise<void>;
}

/** Null if the configuration has no metrics; then nothing is counted either. */
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
