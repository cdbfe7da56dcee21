/** Exports a span for each sampled request, using the OpenTelemetry protocol (OTLP) over HTTP. */
import { definePlugin, version } from 'metro-forecast-api/plugin';
import { traceObserver } from './trace-observer.js';

export default definePlugin({
  name: 'opentelemetry',
  version,
  description: 'Traces requests with OpenTelemetry and exports the spans over OTLP/HTTP.',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      url: {
        type: 'string',
        description:
          'URL to which spans are sent. Default: the environment variable OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318/v1/traces.',
        pattern: '^https?://[^\\s/]+/',
        examples: ['http://collector:4318/v1/traces'],
      },
      headers: {
        type: 'object',
        description: 'HTTP headers sent with the spans, such as credentials.',
        additionalProperties: { type: 'string', 'x-secret': true },
        default: {},
      },
      serviceName: {
        type: 'string',
        description:
          'Name of this service in traces. Default: service.name. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override it.',
        minLength: 1,
      },
      sampleRatio: {
        type: 'number',
        description:
          'Fraction of requests that are traced. If a request has a traceparent header, the sampling decision in the header applies instead.',
        minimum: 0,
        maximum: 1,
        default: 1,
      },
      maxQueuedSpans: {
        type: 'integer',
        description: 'Maximum number of spans waiting to be exported. Further spans are dropped.',
        minimum: 1,
        maximum: 1_000_000,
        default: 2048,
      },
    },
  },
  routes: () => [],
  observer: traceObserver,
});
