/** The observer contract, for plugins that record requests, such as an exporter of traces. */
import type { Logger } from './runtime.js';
import type { ServiceInfo } from './service.js';

/** The header `traceparent` of a request (W3C Trace Context, level 1, section 3.2). */
export interface TraceParent {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** The caller's span: 16 lower-case hex digits. */
  readonly parentId: string;
  /** Whether the caller records this trace. */
  readonly sampled: boolean;
}

/** A request whose response has been written. It has no query and no text of a key, since both may be private. */
export interface FinishedRequest {
  /** The value of `X-Request-Id`. */
  readonly id: string;
  readonly method: string;
  /** The path template of the endpoint. Null for unknown paths. */
  readonly route: string | null;
  /** Keys in it are masked. */
  readonly path: string;
  /** The Host header, with keys masked. Null without one. */
  readonly host: string | null;
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  readonly status: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds from the end of the request head until the response is written. */
  readonly durationMs: number;
  /** The id of the key. Null without a valid key. */
  readonly key: string | null;
  /** The version of the snapshot that was read. Null if none was. */
  readonly snapshot: string | null;
  /** Whether the response came from the cache. */
  readonly cached: boolean;
  /** Null if the caller sent no valid `traceparent`. */
  readonly trace: TraceParent | null;
}

export interface RequestObserver {
  /** Called after the response has been written. Errors that it throws are logged. */
  onRequest(request: FinishedRequest): void;
  /** Called once, after the last request. The service waits for it when it stops. */
  close?(): Promise<void>;
}

export interface ObserverContext {
  readonly info: ServiceInfo;
  readonly logger: Logger;
}
