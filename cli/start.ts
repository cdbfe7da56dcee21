/** `metro-forecast start`: serves until a signal ends it. */
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { resolve as resolvePart } from '../app/container.js';
import { type App, type AppOverrides, createApp } from '../app/create-app.js';
import { loadConfig } from '../app/load-config.js';
import { loadModules } from '../app/load-modules.js';
import { createLogger } from '../app/logger.js';
import { type Assignment, isWorker, type Listening, linkToPrimary, type PrimaryLink } from '../app/worker-link.js';
import { Workers } from '../app/workers.js';
import type { LoadedConfig } from '../core/config/load.js';
import type { ServerConfig } from '../core/config/schema.js';
import type { Logger } from '../core/contracts/runtime.js';
import { MemoryKeyStore } from '../core/keys/memory-key-store.js';
import { newKey } from '../core/keys/new-key.js';
import { collectGently, keepTicksFast, yieldToEventLoop } from './engine.js';
import { type ListenError, listenFault } from './listen-fault.js';
import { print } from './output.js';

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

SIGTERM makes /health fail at once; after server.drainDelayMs the service stops listening, ends the running requests
within server.drainMs and closes its stores. SIGINT does so without the delay; a second signal ends it at once.
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
  const loaded = await loadConfig({ path, env: process.env });
  const { auth, log, server } = loaded.config;
  // Only the embedded configuration has a demo key: one that lives as long as this process.
  const demo = loaded.embedded && auth.keys.use === 'memory' ? await demoKey(loaded) : undefined;
  const assignment: Assignment = { loaded, demo: demo?.record ?? null };
  const count = server.workers || availableParallelism();
  let url: string;
  if (count > 1) {
    const logger = createLogger(log);
    const workers = new Workers(count, assignment, logger);
    stopOnSignals(server, logger, (delayMs) => workers.stop(delayMs));
    const listening = await workers.start();
    if (!listening) {
      process.exitCode = 1;
      return;
    }
    ({ url } = listening);
  } else {
    const { app, logger } = await open(assignment);
    stopOnSignals(server, logger, (delayMs) => shutDown(app, server, delayMs));
    ({ url } = await listen(app, loaded));
  }
  print(`Listening on ${url}`);
  if (demo) {
    print(
      `This key is valid for this run. Try:\n\n  curl -H "Authorization: Bearer ${demo.key}" ${url}/markets/26420\n`,
    );
  }
};

const demoKey = async (loaded: LoadedConfig): Promise<ReturnType<typeof newKey>> => {
  const { registry } = await loadModules(loaded);
  const prefix = registry.service.keyPrefix;
  return newKey({ name: 'demo', tier: loaded.config.auth.tiers[0]! }, Date.now(), { prefix });
};

/** Serves as the primary process says, until it says otherwise. */
const work = async (primary: PrimaryLink): Promise<void> => {
  const assignment = await primary.assignment;
  const { config } = assignment.loaded;
  try {
    // Redis counts for all processes; without it the primary does.
    const { app, logger } = await open(assignment, config.redis ? {} : { limiter: primary.limiter });
    void primary.stopped.then((delayMs) => exitAfter(shutDown(app, config.server, delayMs), logger));
    primary.listening(await listen(app, assignment.loaded));
  } catch (error) {
    primary.release();
    throw error;
  }
};

const open = async ({ loaded, demo }: Assignment, parts: AppOverrides = {}): Promise<{ app: App; logger: Logger }> => {
  const keyStore = demo && new MemoryKeyStore();
  await keyStore?.insert(demo!);
  const app = await createApp(loaded, { ...parts, ...(keyStore && { keyStore }) });
  return { app, logger: resolvePart(app.container, 'logger') };
};

const listen = async (app: App, { config, path }: LoadedConfig): Promise<Listening> => {
  try {
    const { url, port, metricsUrl } = await app.listen();
    resolvePart(app.container, 'logger').info({ url, metricsUrl, config: path }, 'listening');
    yieldToEventLoop();
    return { url, port };
  } catch (error) {
    await app.close();
    throw listenFault(error as ListenError, config);
  }
};

/** Stores have this long to say goodbye. They hold nothing that would be lost. */
const CLOSE_STORES_MS = 2000;

const shutDown = async (app: App, { drainMs }: ServerConfig, delayMs: number): Promise<void> => {
  app.drain();
  await delay(delayMs);
  const closed = await Promise.race([app.close(), delay(drainMs + CLOSE_STORES_MS, 'late', { ref: false })]);
  if (closed === 'late') resolvePart(app.container, 'logger').warn('the stores did not close in time');
};

const exitAfter = (end: Promise<void>, logger: Logger): void =>
  void end.then(
    () => process.exit(0),
    (error: unknown) => {
      logger.fatal({ err: error }, 'the shutdown failed');
      process.exit(1);
    },
  );

/** The first signal lets running requests finish, a second one ends at once. */
const stopOnSignals = (
  { drainDelayMs }: ServerConfig,
  logger: Logger,
  stop: (delayMs: number) => Promise<void>,
): void => {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ signal }, 'shutting down');
    // Whoever interrupts at a terminal has no load balancer to wait for.
    exitAfter(stop(signal === 'SIGTERM' ? drainDelayMs : 0), logger);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
};
