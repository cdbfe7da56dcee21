/** The contract for plugins that record requests, such as trace exporters. */
import type { Logger } from './runtime.js';
import type { ServiceInfo } from './service.js';

/** The `traceparent` header of a request (W3C Trace Context, level 1, 3.2). */
export interface TraceParent {
  /** The trace id: 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** The id of the caller's span: 16 lower-case hexadecimal digits. */
  readonly parentId: string;
  /** True if the caller records the trace. */
  readonly sampled: boolean;
}

/** A completed request. It contains neither the query nor the API key, because both can be private. */
export interface FinishedRequest {
  /** The value of `X-Request-Id`. */
  readonly id: string;
  readonly method: string;
  /** The path template of the endpoint. Null for unknown paths. */
  readonly route: string | null;
  /** The URL path, with API keys masked. */
  readonly path: string;
  /** The Host header, with API keys masked. Null if the request has no Host header. */
  readonly host: string | null;
  /** The HTTP version of the request: `1.1` or `1.0`. */
  readonly httpVersion: string;
  readonly status: number;
  /** When the request arrived, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds from the arrival of the request headers until the response was written. */
  readonly durationMs: number;
  /** True if the connection closed before a streamed or large response was complete. */
  readonly aborted: boolean;
  /** The id of the caller's API key. Null if the request had no valid key. */
  readonly key: string | null;
  /** The version of the snapshot that the handler read. Null if the handler did not read a snapshot. */
  readonly snapshot: string | null;
  readonly cached: boolean;
  /** The trace that the caller sent. Null if the request has no valid `traceparent` header. */
  readonly trace: TraceParent | null;
}

export interface RequestObserver {
  /** Called after each response has been written. Errors and rejected promises are logged. */
  onRequest(request: FinishedRequest): Promise<void> | void;
  /** Called once, after the last request. The service waits for the returned promise before it stops. */
  close?(): Promise<void>;
}

export interface ObserverContext {
  readonly info: ServiceInfo;
  readonly logger: Logger;
}
