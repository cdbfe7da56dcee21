import { setTimeout as delay } from 'node:timers/promises';
import type { App, Overrides } from '../core/app/app-types.js';
import { partOf, startApp } from '../core/app/create-app.js';
import type { Modules } from '../core/app/load-modules.js';
import { type Assignment, type Listening, linkToPrimary, type Stop } from '../core/app/worker-link.js';
import type { Config } from '../core/config/schema.js';
import type { Logger } from '../core/contracts/runtime.js';
import { OperatorError } from '../core/errors.js';
import { MemoryKeyStore } from '../core/keys/memory-key-store.js';
import { createLogger, flushLog } from '../core/observe/logger.js';
import { packageVersion } from '../core/util/package.js';
import { loadModules } from '../product.js';
import { resumeOptimization, yieldToEventLoop } from './engine.js';
import { type ListenError, listenError } from './listen-error.js';

/** If there is a demo key, the service accepts no other keys. */
export const openApp = async ({ loaded, demo }: Assignment, modules: Modules, overrides: Overrides): Promise<App> => {
  if (!demo) return startApp(loaded, modules, overrides);
  const keyStore = new MemoryKeyStore();
  await keyStore.insert(demo);
  return startApp(loaded, modules, { ...overrides, keyStore });
};

/** How long to wait for unreadable stores. After this time, the service listens anyway and responds with 503. */
const FIRST_READ_MS = 5000;
const FIRST_READ_EVERY_MS = 20;

/**
 * Waits up to `FIRST_READ_MS` until the stores can be read.
 * @param needs the parts that must be available; otherwise, the promise rejects after the wait
 */
const firstRead = async (app: App, needs: NonNullable<Assignment['needs']>): Promise<void> => {
  const state = partOf(app, 'state');
  const deadline = performance.now() + FIRST_READ_MS;
  for (;;) {
    const { draining, health, snapshot } = state.read();
    const isAvailable = (name: keyof typeof health) =>
      health[name].ok && (name !== 'storage' || snapshot !== undefined);
    const unavailable = needs.find((name) => !isAvailable(name));
    if (draining || (unavailable === undefined && health.storage.ok && health.keys.ok)) return;
    if (performance.now() >= deadline) {
      if (unavailable === undefined) return;
      throw new OperatorError(`${unavailable} is not available. ${health[unavailable].message ?? ''}`.trim());
    }
    await delay(FIRST_READ_EVERY_MS);
  }
};

/** Resolves with undefined if the service was stopped before it was listening. */
export const listen = async (
  app: App,
  { loaded: { config, path }, needs = [] }: Assignment,
  options: Parameters<App['listen']>[0] = {},
): Promise<Listening | undefined> => {
  try {
    await firstRead(app, needs);
    const { url, port, metricsUrl } = await app.listen(options);
    partOf(app, 'logger').info({ url, metricsUrl, config: path, version: packageVersion }, 'listening');
    resumeOptimization();
    yieldToEventLoop();
    return { url, port };
  } catch (error) {
    const { draining } = partOf(app, 'state').read();
    await app.close();
    if (draining) return undefined;
    throw listenError(error as ListenError, config);
  }
};

const drain = (app: App, idleMs: number | undefined): void => app.drain(idleMs === undefined ? undefined : { idleMs });

const CLOSE_STORES_MS = 2000;

/** Waits `delayMs` before closing, so that load balancers notice that the service is no longer ready. */
export const shutDown = async (app: App, { drainMs }: Config['server'], { delayMs, idleMs }: Stop): Promise<void> => {
  drain(app, idleMs);
  await delay(delayMs);
  const deadlineMs = (idleMs ?? 0) + drainMs + CLOSE_STORES_MS;
  const closed = await Promise.race([app.close(), delay(deadlineMs, 'late', { ref: false })]);
  if (closed === 'late') partOf(app, 'logger').warn('the stores did not close in time');
};

/** Exits the process when `end` settles. The exit code is 1 if `end` rejects, otherwise 0. */
export const exitAfter = async (end: Promise<void>, logger: Logger): Promise<void> => {
  const since = performance.now();
  const code = await end.then(
    () => {
      logger.info({ ms: Math.round(performance.now() - since) }, 'stopped');
      return 0;
    },
    (error: unknown) => {
      logger.fatal({ err: error }, 'the shutdown failed');
      return 1;
    },
  );
  await flushLog();
  process.exit(code);
};

export const inOneLine = ({ heading, errors }: OperatorError): string => [heading, errors.join('; ')].join(' ').trim();

export const logFailure = (error: unknown, logger: Logger): void => {
  if (error instanceof OperatorError) logger.fatal(inOneLine(error));
  else logger.fatal({ err: error }, 'the service cannot start');
  process.exitCode = 1;
};

export const work = async (): Promise<void> => {
  const primary = linkToPrimary();
  const assignment = await primary.assignment;
  const { loaded } = assignment;
  const { config } = loaded;
  const logger = createLogger(config.log);
  let app: App | undefined;
  let isStopping = false;
  primary.onStop((stop) => {
    if (!isStopping) void exitAfter(app ? shutDown(app, config.server, stop) : Promise.resolve(), logger);
    else if (app) drain(app, stop.idleMs);
    isStopping = true;
  });
  try {
    // The limiter of a worker counts requests in Redis. Without Redis, the primary process counts the requests of all
    // workers.
    const limiter = config.redis ? {} : { limiter: primary.limiter };
    app = await openApp(assignment, await loadModules(loaded), { logger, ...limiter });
    const metrics = partOf(app, 'metrics');
    primary.onMeasure(() => metrics?.read() ?? '');
    const listening = await listen(app, assignment, { metrics: false });
    if (listening) primary.listening(listening);
  } catch (error) {
    primary.failed(error instanceof OperatorError ? inOneLine(error) : String(error));
    primary.release();
    // During a reload, the primary process reports errors.
    if (!assignment.needs) logFailure(error, logger);
    else process.exitCode = 1;
  }
};
