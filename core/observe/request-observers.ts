/** Calls the observers of plugins after each request. An error of an observer does not affect the request. */
import type { FinishedRequest, RequestObserver } from '../contracts/observer.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { ServiceInfo } from '../contracts/service.js';
import { OperatorError } from '../errors.js';
import { maskKeys } from '../keys/key.js';
import { traceParent } from '../pipeline/observe.js';
import type { ServiceContext } from '../pipeline/service-koa.js';
import type { RegisteredObserver } from '../registry/register-plugins.js';

export interface RequestObservers {
  observe(ctx: ServiceContext): void;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Null if no plugin observes requests. */
export const openObservers = (
  registered: readonly RegisteredObserver[],
  {
    logger,
    clock,
    service,
  }: { readonly logger: Logger; readonly clock: Pick<Clock, 'now'>; readonly service: ServiceInfo },
): RequestObservers | null => {
  if (registered.length === 0) return null;
  const observers = registered.map(({ plugin, open }) => {
    const own = logger.child({ part: plugin });
    return { observer: opened(plugin, () => open({ logger: own, info: service })), logger: own };
  });
  return {
    observe(ctx) {
      const request = finishedRequest(ctx, clock.now());
      for (const { observer, logger } of observers) {
        try {
          observer.onRequest(request);
        } catch (error) {
          logger.error({ err: error, requestId: request.id }, 'observing a request failed');
        }
      }
    },
    async close() {
      await Promise.all(
        observers.map(async ({ observer, logger }) => {
          try {
            await observer.close?.();
          } catch (error) {
            logger.warn({ err: error }, 'an observer of requests did not close cleanly');
          }
        }),
      );
    },
  };
};

/** @throws OperatorError that names the plugin, if its observer cannot be used */
const opened = (plugin: string, open: () => RequestObserver): RequestObserver => {
  const failure = (text: string, cause?: unknown) =>
    new OperatorError(`The observer of plugin "${plugin}" cannot be used: ${text}`, [], { cause });
  let observer: RequestObserver;
  try {
    observer = open();
  } catch (error) {
    throw failure(error instanceof Error ? error.message : String(error), error);
  }
  if (typeof observer?.onRequest === 'function') return observer;
  const isPromise = typeof (observer as Partial<Promise<unknown>> | undefined)?.then === 'function';
  throw failure(
    isPromise ? 'it is a promise; "observer" must not be async.' : 'it must be an object with a function "onRequest".',
  );
};

const finishedRequest = ({ req: request, res, state }: ServiceContext, now: number): FinishedRequest => {
  const { id, match, caller, snapshotVersion, cacheHit, durationMs } = state;
  return {
    id,
    method: request.method ?? '',
    route: match?.endpoint?.pattern ?? null,
    path: maskKeys((request.url ?? '').split('?', 1)[0]!),
    host: request.headers.host === undefined ? null : maskKeys(request.headers.host),
    httpVersion: request.httpVersion,
    status: res.statusCode,
    startedAt: now - durationMs,
    durationMs,
    key: caller?.key?.id ?? null,
    snapshot: snapshotVersion ?? null,
    cached: cacheHit,
    trace: traceParent(request.headers['traceparent']) ?? null,
  };
};
