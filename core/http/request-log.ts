/** One log line a request. It names the key by its id, and carries nothing of the query but its route. */
import type { Logger } from '../contracts/runtime.js';
import type { Exchange } from './exchange.js';
import { traceId } from './trace-context.js';

export const requestLog =
  (logger: Logger) =>
  (exchange: Exchange, status: number): void => {
    const { id, request, match, caller, snapshotVersion, cacheHit, startedAt } = exchange;
    logger.info(
      {
        requestId: id,
        method: request.method,
        route: match.address?.pattern ?? null,
        status,
        ms: Math.round((performance.now() - startedAt) * 1000) / 1000,
        key: caller?.key?.id ?? null,
        snapshot: snapshotVersion ?? null,
        cached: cacheHit,
        trace: traceId(request.headers['traceparent']) ?? null,
      },
      'request',
    );
  };
