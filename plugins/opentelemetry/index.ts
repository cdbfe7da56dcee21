/** Exports a span for every request to a tracing backend, using OpenTelemetry (OTLP/HTTP with JSON). */
import { definePlugin, version } from 'metro-forecast-api/plugin';
import { traceObserver } from './trace-observer.js';

export default definePlugin({
  name: 'opentelemetry',
  version,
  description: 'A span for every request, exported over OTLP/HTTP (OpenTelemetry).',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      url: {
        type: 'string',
        description:
          'Where spans are sent. Default: the variable OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318/v1/traces.',
        pattern: '^https?://[^\\s/]+/',
        examples: ['http://collector:4318/v1/traces'],
      },
      headers: {
        type: 'object',
        description: 'Request headers for the receiver, such as credentials.',
        additionalProperties: { type: 'string', 'x-secret': true },
        default: {},
      },
      serviceName: {
        type: 'string',
        description:
          'The name of this service in traces. Default: service.name. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override it.',
        minLength: 1,
      },
      sampleRatio: {
        type: 'number',
        description:
          'Fraction of the requests that are traced. If a caller sends traceparent, its sampling decision is followed.',
        minimum: 0,
        maximum: 1,
        default: 1,
      },
      maxQueuedSpans: {
        type: 'integer',
        description: 'Maximum number of spans that wait for a batch; further ones are dropped.',
        minimum: 1,
        maximum: 1_000_000,
        default: 2048,
      },
    },
  },
  routes: () => [],
  observer: traceObserver,
});
