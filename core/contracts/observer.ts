/** The observer contract: what a plugin that watches requests is told of each, such as an exporter of traces. */
import type { Logger } from './runtime.js';
import type { ServiceInfo } from './service.js';

/** What the header `traceparent` says of the caller (W3C Trace Context, level 1, section 3.2). */
export interface TraceParent {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** The caller's span: 16 lower-case hex digits. */
  readonly parentId: string;
  /** Whether the caller records this trace. */
  readonly sampled: boolean;
}

/**
 * A request whose response has been written. It names the key by its id, and has nothing of the query, which may be
 * private.
 */
export interface FinishedRequest {
  /** As in `X-Request-Id`. */
  readonly id: string;
  readonly method: string;
  /** The path template of its endpoint; null if there is no such endpoint. */
  readonly route: string | null;
  /** As it was sent, except that keys in it are masked. */
  readonly path: string;
  /** As the caller wrote it, keys masked; null without one. */
  readonly host: string | null;
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  readonly status: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** From the end of the request's head to the response being written. */
  readonly durationMs: number;
  /** The key's id; null without a valid one. */
  readonly key: string | null;
  /** The version of the snapshot that the response comes from; null if it comes from none. */
  readonly snapshot: string | null;
  /** Whether the representation was cached. */
  readonly cached: boolean;
  /** Null if the caller sent no valid `traceparent`. */
  readonly trace: TraceParent | null;
}

export interface RequestObserver {
  /** Called after the response has been written. What it throws is logged. */
  onRequest(request: FinishedRequest): void;
  /** Called once, after the last request. The service waits for it before it ends, so it should be fast. */
  close?(): Promise<void>;
}

export interface ObserverContext {
  readonly service: ServiceInfo;
  readonly logger: Logger;
}
