/** Makes a span of each finished request, and hands them over in batches. */
import { randomUUID } from 'node:crypto';
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { ObserverContext, RequestObserver, TraceParent } from '../../core/contracts/observer.js';
import { packageVersion } from '../../core/package-root.js';
import { within } from '../../core/within.js';
import { attributesOf, isFailure, spanName } from './attributes.js';
import { reportingExporter } from './reporting-exporter.js';

export interface TraceOptions {
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName?: string;
  readonly sampleRatio: number;
  readonly maxQueuedSpans: number;
}

const BATCH = 512;

/** A path or a host may be as long as the largest head of a request. */
const MAX_VALUE_LENGTH = 1024;

/** Less than the stores have when the service ends: a receiver that hangs must not make it late. */
const FLUSH_MS = 1500;

export const traceObserver = (options: TraceOptions, { logger, service }: ObserverContext): RequestObserver => {
  const { url, headers, serviceName, sampleRatio, maxQueuedSpans } = options;
  const exporter = new OTLPTraceExporter({ ...(url === undefined ? {} : { url }), headers: { ...headers } });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': serviceName ?? service.name,
      'service.version': packageVersion,
      'service.instance.id': randomUUID(),
    }).merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_LENGTH },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportingExporter(exporter, logger),
        maxQueueSize: maxQueuedSpans,
        maxExportBatchSize: Math.min(BATCH, maxQueuedSpans),
      }),
    ],
  });
  const tracer = provider.getTracer('metro-forecast-api', packageVersion);
  return {
    onRequest(request) {
      const { startedAt, durationMs } = request;
      const attributes = attributesOf(request);
      const span = tracer.startSpan(
        spanName(request),
        { kind: SpanKind.SERVER, startTime: startedAt, attributes },
        contextOf(request.trace),
      );
      if (isFailure(request)) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(startedAt + durationMs);
    },
    close: () => within(provider.shutdown(), FLUSH_MS),
  };
};

const contextOf = (parent: TraceParent | null): Context => {
  if (!parent) return ROOT_CONTEXT;
  const { traceId, parentId, sampled } = parent;
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parentId, traceFlags, isRemote: true });
};
