import type { FinishedRequest } from '../contracts/observer.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { ServiceInfo } from '../contracts/service.js';
import { maskKeys } from '../keys/key.js';
import type { ApiContext } from '../pipeline/api-koa.js';
import { traceParent } from '../pipeline/observe.js';
import type { LoadedPlugin } from '../registry/register-plugins.js';
import { openPart } from '../util/open-part.js';

export interface RequestObservers {
  observe(ctx: ApiContext): void;
  close(): Promise<void>;
}

export const openObservers = (
  plugins: readonly LoadedPlugin[],
  { logger, clock, info }: { readonly logger: Logger; readonly clock: Pick<Clock, 'now'>; readonly info: ServiceInfo },
): RequestObservers | null => {
  const observers = plugins.flatMap(({ plugin, options }) => {
    if (!plugin.observer) return [];
    const { name } = plugin;
    const context = { logger: logger.child({ part: name }), info };
    const observer = openPart(name, 'observer', 'onRequest', () => plugin.observer!(options, context));
    return [{ observer, logger: context.logger }];
  });
  if (observers.length === 0) return null;
  return {
    observe(ctx) {
      const request = finishedRequest(ctx, clock.now());
      for (const { observer, logger } of observers) {
        const onFailure = (err: unknown): void =>
          logger.error({ err, requestId: request.id }, 'a request observer failed');
        try {
          const result: unknown = observer.onRequest(request);
          if (result instanceof Promise) result.catch(onFailure);
        } catch (error) {
          onFailure(error);
        }
      }
    },
    async close() {
      await Promise.all(
        observers.map(async ({ observer, logger }) => {
          try {
            await observer.close?.();
          } catch (error) {
            logger.warn({ err: error }, 'a request observer did not close cleanly');
          }
        }),
      );
    },
  };
};

const finishedRequest = ({ req: request, res, requestState: state }: ApiContext, now: number): FinishedRequest => {
  const { id, match, caller, snapshotVersion, cacheHit, durationMs, isAborted } = state;
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
    aborted: isAborted,
    key: caller?.key?.id ?? null,
    snapshot: snapshotVersion ?? null,
    cached: cacheHit,
    trace: traceParent(request.headers['traceparent']) ?? null,
  };
};
