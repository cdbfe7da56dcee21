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

/** A request that has been answered. It names the key by its id, and carries nothing of the query. */
export interface FinishedRequest {
  /** As in `X-Request-Id`. */
  readonly id: string;
  readonly method: string;
  /** The path template of its address; null where nothing answers there. */
  readonly route: string | null;
  /** As it was sent, but for keys in it, which are masked. */
  readonly path: string;
  /** As the caller wrote it, keys masked; null without one. */
  readonly host: string | null;
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  readonly status: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** From the head being read to the answer being written. */
  readonly durationMs: number;
  /** The key's id; null without a valid one. */
  readonly key: string | null;
  /** The version answered from; null where none was. */
  readonly snapshot: string | null;
  /** Whether the answer was kept ready. */
  readonly cached: boolean;
  /** Null where the caller sent none that is valid. */
  readonly trace: TraceParent | null;
}

export interface RequestObserver {
  /** Called after the answer has been written. What it throws is logged. */
  onRequest(request: FinishedRequest): void;
  /** Called once, after the last request. The service waits for it while it ends, and should not have to for long. */
  close?(): Promise<void>;
}

export interface ObserverContext {
  readonly service: ServiceInfo;
  readonly logger: Logger;
}
