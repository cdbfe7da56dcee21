/** For plugins that record requests, such as trace exporters. */
import type { Logger } from './runtime.js';
import type { ServiceInfo } from './service.js';

/** A request's parsed `traceparent` header (W3C Trace Context, level 1, section 3.2). */
export interface TraceParent {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** The caller's span, as 16 lower-case hex digits. */
  readonly parentId: string;
  /** Whether the caller records this trace. */
  readonly sampled: boolean;
}

/** A completed request, without its query and API key, because both can be private. */
export interface FinishedRequest {
  /** The value of `X-Request-Id`. */
  readonly id: string;
  readonly method: string;
  /** The endpoint's path template. Null for unknown paths. */
  readonly route: string | null;
  /** The URL path, with API keys masked. */
  readonly path: string;
  /** The Host header, with API keys masked. Null if there is none. */
  readonly host: string | null;
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  readonly status: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds from receiving the complete request head to writing the response. */
  readonly durationMs: number;
  /** The id of the caller's API key. Null if the request had no valid key. */
  readonly key: string | null;
  /** The version of the snapshot that the request read, or null if it read none. */
  readonly snapshot: string | null;
  readonly cached: boolean;
  /** Null if the caller sent no valid `traceparent`. */
  readonly trace: TraceParent | null;
}

export interface RequestObserver {
  /** Called after the response has been written. Errors thrown here are logged. */
  onRequest(request: FinishedRequest): void;
  /** Called once, after the last request. The service waits for this before it stops. */
  close?(): Promise<void>;
}

export interface ObserverContext {
  readonly info: ServiceInfo;
  readonly logger: Logger;
}
