/** Tells plugins of finished requests. What becomes of it there is no request's concern. */
import type { FinishedRequest } from '../contracts/observer.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { ServiceInfo } from '../contracts/service.js';
import { maskKeys } from '../keys/mask-keys.js';
import type { RegisteredObserver } from '../registry/register-plugins.js';
import type { ServiceContext } from './request-state.js';
import { traceParent } from './trace-context.js';

export interface RequestObservers {
  observe(ctx: ServiceContext): void;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Null where no plugin observes: then nothing is put together for them either. */
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
    return { observer: open({ logger: own, service }), logger: own };
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

const finishedRequest = ({ req: request, res, state }: ServiceContext, now: number): FinishedRequest => {
  const { id, match, caller, snapshotVersion, cacheHit, durationMs } = state;
  return {
    id,
    method: request.method ?? '',
    route: match?.address?.pattern ?? null,
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
