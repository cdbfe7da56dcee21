/** `metro-forecast start`: serves until a signal ends it. */
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { resolve as resolvePart } from '../../core/app/container.js';
import { type App, type AppOverrides, createApp } from '../../core/app/create-app.js';
import { loadConfig } from '../../core/app/load-config.js';
import { loadModules } from '../../core/app/load-modules.js';
import { createLogger } from '../../core/app/logger.js';
import { looseFiles } from '../../core/app/loose-files.js';
import { RELOADED } from '../../core/app/running-settings.js';
import {
  type Assignment,
  isWorker,
  type Listening,
  linkToPrimary,
  type PrimaryLink,
} from '../../core/app/worker-link.js';
import { Workers } from '../../core/app/workers.js';
import type { LoadedConfig } from '../../core/config/load.js';
import type { Config } from '../../core/config/schema.js';
import { tierNames } from '../../core/config/tiers.js';
import type { Logger } from '../../core/contracts/runtime.js';
import { OperatorError } from '../../core/errors.js';
import { newKey } from '../../core/keys/key.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { type MetricsServer, serveMetrics } from '../../core/observe/metrics-server.js';
import type { Registry } from '../../core/registry/register-plugins.js';
import { collectGently, keepTicksFast, yieldToEventLoop } from '../engine.js';
import { type ListenError, listenFault } from '../listen-fault.js';
import { print } from '../output.js';

export const register = (program: Command): void => {
  program
    .command('start')
    .description('serve the API as the configuration says, until SIGTERM or SIGINT')
    .addHelpText(
      'after',
      `
Examples:
  $ metro-forecast start                      the embedded dataset, with a demo key for this run
  $ metro-forecast --config api.json start    a configuration of your own
  $ PORT=9000 metro-forecast start            another port

SIGTERM makes /ready and /health fail at once; after server.drainDelayMs the service stops listening, ends the running requests
within server.drainMs and closes its stores. SIGINT does so without the delay; a second signal ends it at once.
SIGHUP reads the configuration again: the log names what needs a restart, and changed are
${RELOADED.map((path) => `  ${path}`).join('\n')}
With server.workers above 1 this process starts that many and acts on signals for them.

Exit codes: 0 after a clean shutdown, 1 when the service cannot start, 2 wrong usage.`,
    )
    .action(async (_options: object, command: Command) => {
      await start(command.optsWithGlobals<{ config?: string }>().config);
    });
};

const start = async (path: string | undefined): Promise<void> => {
  keepTicksFast();
  collectGently();
  if (isWorker()) return work(linkToPrimary());
  const loaded = await loadConfig({ path });
  // Loaded before the log begins, so that faults of modules are printed as text, like those of the configuration.
  const modules = await loadModules(loaded);
  const logger = createLogger(loaded.config.log);
  for (const sentence of await looseFiles(loaded, modules)) logger.warn(sentence);
  try {
    await serve({ path, loaded, logger, registry: modules.registry });
  } catch (error) {
    logFailure(error, logger);
  }
};

interface Serving {
  /** As given on the command line. */
  readonly path: string | undefined;
  readonly loaded: LoadedConfig;
  readonly logger: Logger;
  readonly registry: Registry;
}

const serve = async ({ path, loaded, logger, registry }: Serving): Promise<void> => {
  const { config } = loaded;
  const { auth, server } = config;
  // Only the embedded configuration has a demo key, which lives as long as this process.
  const isDemo = loaded.embedded && auth.keys.use === 'memory';
  const demo = isDemo
    ? newKey({ name: 'demo', tier: tierNames(auth)[0]! }, Date.now(), { prefix: registry.service.keyPrefix })
    : undefined;
  const assignment: Assignment = { loaded, demo: demo?.record ?? null };
  const count = server.workers || availableParallelism();
  let url: string;
  if (count > 1) {
    const workers = new Workers(count, assignment, logger);
    stopOnSignals(server, logger, (delayMs) => workers.stop(delayMs));
    reloadOnHangup(path, logger, (read) => {
      logger.setLevel?.(read.config.log.level);
      workers.reload(read);
    });
    const measured = config.metrics && (await listenForMetrics(workers, config));
    const listening = await workers.start();
    if (!listening) {
      await measured?.close();
      process.exitCode = 1;
      return;
    }
    if (measured) logger.info({ metricsUrl: measured.url }, 'listening for metrics of all workers');
    ({ url } = listening);
  } else {
    const app = await open(assignment, { logger });
    stopOnSignals(server, logger, (delayMs) => shutDown(app, server, delayMs));
    reloadOnHangup(path, logger, (read) => app.reload(read));
    ({ url } = await listen(app, loaded));
  }
  // Only a mount with a policy of its own shows a page: others speak protocols.
  const pages = registry.mounts
    .filter(({ mount }) => mount.contentSecurityPolicy !== undefined)
    .map(({ mount }) => `${mount.summary}: ${new URL(mount.path, url)}`);
  // Printed in one piece, since a program that waits for the first line may stop reading after it.
  print([`Listening on ${url}`, ...pages].join('\n'));
  if (demo) {
    print(
      `This key is valid for this run. Try:\n\n  curl -H "Authorization: Bearer ${demo.key}" ${url}/markets/26420\n`,
    );
  }
};

/** The heading and all faults as one sentence: the log for people would write a field on lines of its own. */
const inOneLine = ({ heading, faults }: OperatorError): string => [heading, faults.join('; ')].join(' ').trim();

/** The log has begun: a failure is its last line. */
const logFailure = (error: unknown, logger: Logger): void => {
  if (error instanceof OperatorError) logger.fatal(inOneLine(error));
  else logger.fatal({ err: error }, 'the service cannot start');
  process.exitCode = 1;
};

/** Serves as a worker, until the primary process stops it. */
const work = async (primary: PrimaryLink): Promise<void> => {
  const assignment = await primary.assignment;
  const { config } = assignment.loaded;
  const logger = createLogger(config.log);
  try {
    // Redis counts for all processes; without it the primary does.
    const app = await open(assignment, { logger, ...(!config.redis && { limiter: primary.limiter }) });
    primary.onReload((loaded) => app.reload(loaded));
    void primary.stopped.then((delayMs) => exitAfter(shutDown(app, config.server, delayMs), logger));
    primary.onMeasure(() => resolvePart(app.container, 'metrics')?.read() ?? '');
    primary.listening(await listen(app, assignment.loaded, { metrics: false }));
  } catch (error) {
    primary.release();
    logFailure(error, logger);
  }
};

const open = async ({ loaded, demo }: Assignment, overrides: AppOverrides): Promise<App> => {
  const keyStore = demo && new MemoryKeyStore();
  await keyStore?.insert(demo!);
  return createApp(loaded, { ...overrides, ...(keyStore && { keyStore }) });
};

/** Serves the metrics of all workers from this process, since a worker has its own alone. */
const listenForMetrics = async (workers: Workers, config: Config): Promise<MetricsServer> => {
  try {
    return await serveMetrics(config.metrics!, () => workers.metrics());
  } catch (error) {
    throw listenFault(error as ListenError, config);
  }
};

/** A store that is away for longer does not keep the service from listening. */
const FIRST_READ_MS = 5000;
const FIRST_READ_EVERY_MS = 20;

/** Waits for stores that could not be read at once, since until then other replicas respond where this one cannot. */
const firstRead = async (app: App): Promise<void> => {
  const state = resolvePart(app.container, 'state');
  const deadline = performance.now() + FIRST_READ_MS;
  while (performance.now() < deadline) {
    const { draining, health } = state.read();
    if (draining || (health.storage.ok && health.keys.ok)) return;
    await delay(FIRST_READ_EVERY_MS);
  }
};

const listen = async (app: App, { config, path }: LoadedConfig, options = { metrics: true }): Promise<Listening> => {
  await firstRead(app);
  try {
    const { url, port, metricsUrl } = await app.listen(options);
    resolvePart(app.container, 'logger').info({ url, metricsUrl, config: path }, 'listening');
    yieldToEventLoop();
    return { url, port };
  } catch (error) {
    await app.close();
    throw listenFault(error as ListenError, config);
  }
};

/** Stores have this long to close. Nothing is lost if they do not. */
const CLOSE_STORES_MS = 2000;

const shutDown = async (app: App, { drainMs }: Config['server'], delayMs: number): Promise<void> => {
  app.drain();
  await delay(delayMs);
  const closed = await Promise.race([app.close(), delay(drainMs + CLOSE_STORES_MS, 'late', { ref: false })]);
  if (closed === 'late') resolvePart(app.container, 'logger').warn('the stores did not close in time');
};

const exitAfter = (end: Promise<void>, logger: Logger): void => {
  const since = performance.now();
  void end.then(
    () => {
      logger.info({ ms: Math.round(performance.now() - since) }, 'stopped');
      process.exit(0);
    },
    (error: unknown) => {
      logger.fatal({ err: error }, 'the shutdown failed');
      process.exit(1);
    },
  );
};

/** The first signal lets running requests finish, a second one ends at once. */
const stopOnSignals = (
  { drainDelayMs }: Config['server'],
  logger: Logger,
  stop: (delayMs: number) => Promise<void>,
): void => {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ signal }, 'shutting down');
    // A service that is interrupted at a terminal has no load balancer to wait for.
    exitAfter(stop(signal === 'SIGTERM' ? drainDelayMs : 0), logger);
  };
  // At a terminal SIGHUP says that it was closed; elsewhere the configuration is read again.
  const signals = process.stdout.isTTY ? (['SIGTERM', 'SIGINT', 'SIGHUP'] as const) : (['SIGTERM', 'SIGINT'] as const);
  for (const signal of signals) process.on(signal, onSignal);
};

/** Reads the configuration again at SIGHUP. A configuration with faults changes nothing. */
const reloadOnHangup = (path: string | undefined, logger: Logger, reload: (loaded: LoadedConfig) => void): void => {
  if (process.stdout.isTTY) return;
  process.on('SIGHUP', async () => {
    try {
      const loaded = await loadConfig({ path });
      await loadModules(loaded);
      reload(loaded);
    } catch (error) {
      const reason = error instanceof OperatorError ? inOneLine(error) : String(error);
      logger.error(`the configuration was not read again: ${reason}`);
    }
  });
};
