/** Tells of every response, once it has been written: for the log, metrics, and plugins that observe. */
import type { ServiceContext, ServiceMiddleware } from '../http/request-state.js';

export interface ObserveDependencies {
  readonly observers: readonly ((ctx: ServiceContext) => void)[];
}

export const observe =
  ({ observers }: ObserveDependencies): ServiceMiddleware =>
  (ctx, next) =>
    next().then(() => {
      const { state } = ctx;
      if (state.isInner) return;
      state.durationMs = performance.now() - state.startedAt;
      for (const tell of observers) tell(ctx);
    });
