/** An OTLP/HTTP collector for JSON. It stores the exported spans or fails on demand. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Value = string | number | boolean | readonly Value[];

/** A span of `opentelemetry/proto/trace/v1/trace.proto` with attributes as plain values. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** Kind of the span: 2 is SERVER. */
  readonly kind: number;
  /** Status code of the span: 0 is UNSET, and 2 is ERROR. */
  readonly status: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly resource: Readonly<Record<string, Value>>;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly requests: readonly { readonly target: string; readonly headers: object; readonly body: string }[];
  readonly spans: readonly ReceivedSpan[];
  /** Status of later responses. Default: 200. With 0, no response is sent. */
  answerWith(status: number): void;
  next(): Promise<void>;
  close(): Promise<void>;
}

export const startOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const requests: { target: string; headers: object; body: string }[] = [];
  const spans: ReceivedSpan[] = [];
  const received = new EventEmitter<{ request: [] }>();
  const waiting = new Set<ServerResponse>();
  let status = 200;
  const answer = (response: ServerResponse) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(status === 200 ? '{}' : '');

  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    requests.push({ target: `${request.method} ${request.url}`, headers: request.headers, body });
    if (status === 0) waiting.add(response);
    else {
      if (status === 200) spans.push(...decode(body));
      answer(response);
    }
    received.emit('request');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    requests,
    spans,
    answerWith(next) {
      status = next;
      if (next !== 0) for (const response of waiting) answer(response);
      waiting.clear();
    },
    next: async () => void (await once(received, 'request')),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** An `AnyValue` of `opentelemetry/proto/common/v1/common.proto`. */
interface AnyValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
}

type Pairs = readonly { readonly key: string; readonly value: AnyValue }[];

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Pairs };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Pairs;
  readonly status: { readonly code?: number };
}

const decode = (body: string): ReceivedSpan[] =>
  (JSON.parse(body) as ExportRequest).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, name, kind, status, ...span }) => ({
        traceId,
        spanId,
        parentSpanId,
        name,
        kind,
        status: status.code ?? 0,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        attributes: plain(span.attributes),
        resource: plain(resource.attributes),
      })),
    ),
  );

const plain = (pairs: Pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, plainValue(value)]));

const plainValue = ({ stringValue, boolValue, intValue, doubleValue, arrayValue }: AnyValue): Value => {
  if (arrayValue) return arrayValue.values.map(plainValue);
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue);
};
