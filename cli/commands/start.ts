import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { permissionWarnings } from '../../core/app/file-permissions.js';
import type { Modules } from '../../core/app/load-modules.js';
import { RELOADED } from '../../core/app/running-settings.js';
import type { Assignment, Listening } from '../../core/app/worker-link.js';
import { Workers } from '../../core/app/workers.js';
import type { LoadedConfig } from '../../core/config/load.js';
import type { Config } from '../../core/config/schema.js';
import { tierNames, volatileQuotas } from '../../core/config/tiers.js';
import type { Logger } from '../../core/contracts/runtime.js';
import { OperatorError } from '../../core/errors.js';
import { newKey } from '../../core/keys/key.js';
import { createLogger } from '../../core/observe/logger.js';
import { isWorker } from '../../core/util/is-worker.js';
import { fileLimitWarning } from '../../core/util/open-files.js';
import { installedVersion, packageVersion } from '../../core/util/package.js';
import { loadConfig, loadModules } from '../../product.js';
import { collectGently, keepTicksFast, resumeOptimization } from '../engine.js';
import { oneTimeCode } from '../one-time-code.js';
import { CONFIG_FILE, commandLine } from '../options.js';
import { print } from '../output.js';
import { reloadAtHangup } from '../reloading.js';
import { exitAfter, listen, logFailure, openApp, shutDown, work } from '../serve.js';
import { onStop } from '../signals.js';
import { WorkerMetrics } from '../worker-metrics.js';

export const register = (command: Command): void => {
  command
    .addHelpText(
      'after',
      `
Examples:
  $ metro-forecast start                      the embedded dataset, with a demo key for this run
  $ metro-forecast --config api.json start    your own configuration
  $ PORT=9000 metro-forecast start            another port

SIGTERM makes /ready and /health fail immediately. After server.drainDelayMs, the service stops listening, completes
running requests within server.drainMs and closes its stores. SIGINT does the same without the delay. A second signal
exits immediately.

If server.workers is above 1, this process starts that many workers and handles signals for them. SIGHUP then reloads
the configuration and replaces the workers without downtime. If the new workers cannot serve, the old ones keep running.
Without workers, SIGHUP applies changes to these settings, and the log lists all others that need a restart:
${RELOADED.map((path) => `  ${path}`).join('\n')}
"metro-forecast reload" sends SIGHUP and waits for the result.

Exit codes: 0 after a clean shutdown, 1 when the service cannot start, 2 wrong usage.`,
    )
    .action(async (_options: object, command: Command) => {
      await start(command.optsWithGlobals<{ config?: string }>().config);
    });
};

const start = async (path: string | undefined): Promise<void> => {
  keepTicksFast();
  collectGently();
  if (isWorker()) return work();
  // There is no log yet, so errors in the configuration and its modules are printed as text.
  const loaded = await loadConfig({ path });
  const codes = isSigningIn(loaded) ? oneTimeCode() : undefined;
  const modules = await loadModules(loaded, codes && [{ plugin: codes.plugin, options: {}, at: 'one-time code' }]);
  const logger = createLogger(loaded.config.log);
  const { auth, redis, server } = loaded.config;
  const warnings = [unusedConfig(loaded), volatileQuotas(auth, redis), fileLimitWarning(server.maxConnections)];
  for (const message of [...(await permissionWarnings(loaded, modules)), ...warnings])
    if (message) logger.warn(message);
  const demo = demoKey(loaded, modules);
  const serving: Serving = { path, modules, logger, assignment: { loaded, demo: demo?.record ?? null } };
  try {
    const url = await serve(serving);
    if (url !== undefined) announce(url, modules, demo && { key: demo.key, code: codes?.issue(demo.key) });
  } catch (error) {
    logFailure(error, logger);
  }
};

const unusedConfig = ({ embedded }: LoadedConfig): string | undefined =>
  embedded && existsSync(CONFIG_FILE)
    ? `The service uses the embedded configuration and ignores ${CONFIG_FILE} in this folder. To use this file: ${commandLine(CONFIG_FILE, 'start')}`
    : undefined;

interface Serving {
  readonly path: string | undefined;
  readonly modules: Modules;
  readonly logger: Logger;
  readonly assignment: Assignment;
}

const hasDemoKey = ({ config: { auth }, embedded }: LoadedConfig): boolean => embedded && auth.keys.use === 'memory';

/** A sign-in link works only in the process that printed it. */
const isSigningIn = (loaded: LoadedConfig): boolean => hasDemoKey(loaded) && workerCountOf(loaded.config) === 1;

/** Creates the demo key of the embedded configuration. The key is valid until this process exits. */
const demoKey = (loaded: LoadedConfig, { registry }: Modules) =>
  hasDemoKey(loaded)
    ? newKey({ name: 'demo', tier: tierNames(loaded.config.auth)[0]! }, Date.now(), {
        prefix: registry.info.keyPrefix,
      })
    : undefined;

/** @returns the URL, or undefined if the service was stopped, or if the first worker could not start */
const serve = async (serving: Serving): Promise<string | undefined> => {
  const count = workerCountOf(serving.assignment.loaded.config);
  return count > 1 ? serveWithWorkers(count, serving) : serveAlone(serving);
};

const serveAlone = async ({ path, modules, logger, assignment }: Serving): Promise<string | undefined> => {
  const { server } = assignment.loaded.config;
  onStop({ logger, stop: () => void exitAfter(Promise.resolve(), logger) });
  const app = await openApp(assignment, modules, { logger });
  onStop({
    logger,
    stop: (signal) => void exitAfter(shutDown(app, server, { delayMs: drainDelay(server, signal) }), logger),
  });
  const listening = await listen(app, assignment);
  if (!listening) return undefined;
  const { url } = listening;
  reloadAtHangup({
    path,
    logger,
    url,
    async apply(loaded) {
      // Only checks the modules and their options: changes of modules need a restart, and the restart must not fail.
      await loadModules(loaded);
      return app.reload(loaded);
    },
  });
  return url;
};

const serveWithWorkers = async (count: number, { path, logger, assignment }: Serving): Promise<string | undefined> => {
  let { config } = assignment.loaded;
  const workers = new Workers(count, assignment, logger);
  onStop({ logger, stop: (signal) => void exitAfter(workers.stop(drainDelay(config.server, signal)), logger) });
  const metrics = new WorkerMetrics(workers, logger);
  await metrics.listen(config);
  let listening: Listening | undefined;
  try {
    listening = await workers.start();
  } finally {
    // An open server would keep this process running without workers.
    if (!listening) await metrics.close();
  }
  if (!listening) {
    process.exitCode = 1;
    return undefined;
  }
  resumeOptimization();
  const apply = async (loaded: LoadedConfig): Promise<readonly string[]> => {
    assertSameVersion();
    const next = withLogFormat(loaded, config);
    await metrics.reload(config, next.config, () => workers.reload(next, workerCountOf(next.config)));
    logger.info('configuration reloaded; all workers were replaced');
    logger.setLevel?.(next.config.log.level);
    config = next.config;
    return next === loaded ? [] : ['log.format'];
  };
  reloadAtHangup({ path, logger, url: listening.url, apply });
  return listening.url;
};

const workerCountOf = ({ server: { workers } }: Config): number => workers || availableParallelism();

/** After an upgrade, new workers would run different code than the primary process. */
const assertSameVersion = (): void => {
  const installed = installedVersion();
  if (installed === packageVersion) return;
  throw new OperatorError(
    `Version ${installed} is installed, but version ${packageVersion} is running: restart the service to upgrade.`,
  );
};

/** A reload does not change the log format, because the primary process writes to the same log. */
const withLogFormat = (loaded: LoadedConfig, { log: { format } }: Config): LoadedConfig => {
  const { config } = loaded;
  return config.log.format === format ? loaded : { ...loaded, config: { ...config, log: { ...config.log, format } } };
};

/** After SIGTERM, load balancers need time to notice the shutdown. SIGINT usually comes from a user at a terminal. */
const drainDelay = ({ drainDelayMs }: Config['server'], signal: NodeJS.Signals): number =>
  signal === 'SIGTERM' ? drainDelayMs : 0;

const announce = (
  url: string,
  { registry }: Modules,
  demo: { readonly key: string; readonly code: string | undefined } | undefined,
): void => {
  const pages = registry.mounts
    .filter(({ mount }) => mount.page !== undefined)
    .map(({ mount }) => `${mount.summary}: ${new URL(mount.path, url)}`);
  // All addresses are printed in one write. A program that waits for the first line can miss lines written later.
  print([`Listening on ${url}`, ...pages].join('\n'));
  if (!demo) return;
  if (demo.code !== undefined) {
    print(`This link signs you in. It works once, within 10 minutes:\n\n  ${new URL(`/sign-in#${demo.code}`, url)}\n`);
  }
  print(`This key is valid for this run. Try:\n\n  curl -H "Authorization: Bearer ${demo.key}" ${url}/markets/26420\n`);
};
