import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import {
  type FinishedRequest,
  type Logger,
  type ObserverContext,
  type RequestObserver,
  type TraceParent,
  version,
} from 'metro-forecast-api/plugin';

interface TraceOptions {
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName?: string;
  readonly sampleRatio: number;
  readonly maxQueuedSpans: number;
}

const BATCH = 512;

/** Maximum length of an attribute in characters. Callers can send paths and hosts of several kilobytes. */
const MAX_VALUE_LENGTH = 1024;

/** Timeout for the last export, in milliseconds. An unreachable backend must not delay the shutdown. */
const FLUSH_MS = 1500;

export const traceObserver = (options: TraceOptions, { logger, info }: ObserverContext): RequestObserver => {
  const { url, headers, serviceName, sampleRatio, maxQueuedSpans } = options;
  const exporter = new OTLPTraceExporter({ ...(url === undefined ? {} : { url }), headers: { ...headers } });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': serviceName ?? info.name,
      'service.version': version,
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
  const tracer = provider.getTracer('metro-forecast-api', version);
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
    async close() {
      const late = setTimeout(FLUSH_MS, undefined, { ref: false }).then(() => {
        throw new Error(`The tracing backend did not respond within ${FLUSH_MS} ms.`);
      });
      await Promise.race([provider.shutdown(), late]);
    },
  };
};

/**
 * The value of `ExportResultCode.SUCCESS`. The enum is not imported, because `@opentelemetry/core` is only an indirect
 * dependency.
 */
const SUCCESS = 0;

/** Logs an outage of the backend once, not for every failed batch. */
const reportingExporter = (exporter: SpanExporter, logger: Logger): SpanExporter => {
  let lost = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== SUCCESS) {
          if (lost === 0) logger.warn({ err: result.error }, 'spans could not be delivered and were lost');
          lost += spans.length;
        } else if (lost > 0) {
          logger.info({ lost }, 'spans are delivered again');
          lost = 0;
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
};

const contextOf = (parent: TraceParent | null): Context => {
  if (!parent) return ROOT_CONTEXT;
  const { traceId, parentId, sampled } = parent;
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parentId, traceFlags, isRemote: true });
};

/** All other methods are recorded as `_OTHER`, because callers can send any name. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(
  'CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '),
);

const HOST = /^\[?(.*?)\]?(?::(\d+))?$/;

const isFailure = ({ status }: FinishedRequest): boolean => status >= 500;

const spanName = ({ method, route }: FinishedRequest): string =>
  [KNOWN_METHODS.has(method) ? method : 'HTTP', route].filter(Boolean).join(' ');

/** Like the log, spans do not contain the query, the client address or the user agent. */
const attributesOf = (request: FinishedRequest): Attributes => {
  const { id, method, route, path, host, httpVersion, status, key, snapshot, cached } = request;
  const known = KNOWN_METHODS.has(method);
  const [, address, port] = HOST.exec(host ?? '') ?? [];
  return {
    'http.request.method': known ? method : '_OTHER',
    ...(known ? {} : { 'http.request.method_original': method }),
    ...(route === null ? {} : { 'http.route': route }),
    'http.response.status_code': status,
    'http.response.header.x-request-id': [id],
    'url.path': path,
    'url.scheme': 'http',
    ...(address ? { 'server.address': address } : {}),
    ...(port ? { 'server.port': Number(port) } : {}),
    'network.protocol.version': httpVersion,
    ...(isFailure(request) ? { 'error.type': String(status) } : {}),
    ...(key === null ? {} : { 'metro_forecast.key.id': key }),
    ...(snapshot === null ? {} : { 'metro_forecast.snapshot.version': snapshot, 'metro_forecast.cache.hit': cached }),
  };
};
