/** Runs a service in this process, either as the only process or as one of several workers. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Overrides, resolve } from '../core/app/container.js';
import { type App, startApp } from '../core/app/create-app.js';
import type { Modules } from '../core/app/load-modules.js';
import { type Assignment, type Listening, linkToPrimary } from '../core/app/worker-link.js';
import type { LoadedConfig } from '../core/config/load.js';
import type { Config } from '../core/config/schema.js';
import type { Logger } from '../core/contracts/runtime.js';
import { OperatorError } from '../core/errors.js';
import { MemoryKeyStore } from '../core/keys/memory-key-store.js';
import { createLogger, flushLog } from '../core/observe/logger.js';
import { loadModules } from '../product.js';
import { yieldToEventLoop } from './engine.js';
import { type ListenError, listenError } from './listen-error.js';

/** @param demo the record of the demo key; if it is given, it is the only key */
export const openApp = async ({ loaded, demo }: Assignment, modules: Modules, overrides: Overrides): Promise<App> => {
  if (!demo) return startApp(loaded, modules, overrides);
  const keyStore = new MemoryKeyStore();
  await keyStore.insert(demo);
  return startApp(loaded, modules, { ...overrides, keyStore });
};

/**
 * How long a service waits for unreadable stores before it starts to listen, in milliseconds. After that, it listens
 * and responds with 503.
 */
const FIRST_READ_MS = 5000;
const FIRST_READ_EVERY_MS = 20;

/**
 * Waits until the stores can be read, so that other replicas respond to requests that this one could not answer yet.
 */
const firstRead = async (app: App): Promise<void> => {
  const state = resolve(app.container, 'state');
  const deadline = performance.now() + FIRST_READ_MS;
  while (performance.now() < deadline) {
    const { draining, health } = state.read();
    if (draining || (health.storage.ok && health.keys.ok)) return;
    await delay(FIRST_READ_EVERY_MS);
  }
};

export const listen = async (
  app: App,
  { config, path }: LoadedConfig,
  options: Parameters<App['listen']>[0] = {},
): Promise<Listening> => {
  await firstRead(app);
  try {
    const { url, port, metricsUrl } = await app.listen(options);
    resolve(app.container, 'logger').info({ url, metricsUrl, config: path }, 'listening');
    yieldToEventLoop();
    return { url, port };
  } catch (error) {
    await app.close();
    throw listenError(error as ListenError, config);
  }
};

/** How long the stores may take to close after the last request has ended, in milliseconds. */
const CLOSE_STORES_MS = 2000;

/** @param delayMs how long the service keeps listening, so that load balancers notice that it is no longer ready */
export const shutDown = async (app: App, { drainMs }: Config['server'], delayMs: number): Promise<void> => {
  app.drain();
  await delay(delayMs);
  const closed = await Promise.race([app.close(), delay(drainMs + CLOSE_STORES_MS, 'late', { ref: false })]);
  if (closed === 'late') resolve(app.container, 'logger').warn('the stores did not close in time');
};

/** Ends the process when `end` settles. The exit code is 0, or 1 if `end` rejects. */
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

/** Returns the heading and all errors in one line, for the log. */
export const inOneLine = ({ heading, errors }: OperatorError): string => [heading, errors.join('; ')].join(' ').trim();

/** Logs why the service could not start, and sets the exit code. */
export const logFailure = (error: unknown, logger: Logger): void => {
  if (error instanceof OperatorError) logger.fatal(inOneLine(error));
  else logger.fatal({ err: error }, 'the service cannot start');
  process.exitCode = 1;
};

/** Serves as a worker until the primary process stops it. */
export const work = async (): Promise<void> => {
  const primary = linkToPrimary();
  const assignment = await primary.assignment;
  const { loaded } = assignment;
  const { config } = loaded;
  const logger = createLogger(config.log);
  let app: App | undefined;
  void primary.stopped.then((delayMs) =>
    exitAfter(app ? shutDown(app, config.server, delayMs) : Promise.resolve(), logger),
  );
  try {
    // Redis counts the requests of all processes. Without Redis, the primary process counts them.
    const limiter = config.redis ? {} : { limiter: primary.limiter };
    app = await openApp(assignment, await loadModules(loaded), { logger, ...limiter });
    const { container, reload } = app;
    primary.onReload(reload);
    primary.onMeasure(() => resolve(container, 'metrics')?.read() ?? '');
    primary.listening(await listen(app, loaded, { metrics: false }));
  } catch (error) {
    primary.release();
    logFailure(error, logger);
  }
};
