/** `metro-forecast start`: serves until a signal ends it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { resolve as resolvePart } from '../app/container.js';
import { type App, createApp } from '../app/create-app.js';
import { loadConfig } from '../app/load-config.js';
import type { ServerConfig } from '../core/config/schema.js';
import type { KeyStore } from '../core/contracts/keys.js';
import { createKey } from '../core/keys/key-format.js';
import { MemoryKeyStore } from '../core/keys/memory-key-store.js';
import { type ListenError, listenFault } from './listen-fault.js';

export const register = (program: Command): void => {
  program
    .command('start')
    .description('Serve the API as the configuration says, until SIGTERM or SIGINT.')
    .addHelpText(
      'after',
      `
Examples:
  metro-forecast start                       the embedded dataset, with a demo key for this run
  metro-forecast start --config api.json     a configuration of your own
  PORT=9000 metro-forecast start             another port

SIGTERM makes /health fail at once; after server.drainDelayMs the service stops listening, ends the running requests
within server.drainMs and closes its stores. SIGINT does so without the delay; a second signal ends it at once.

Exit codes: 0 after a clean shutdown, 1 when the service cannot start, 2 for a wrong command line.`,
    )
    .action(async (_options: object, command: Command) => {
      await start(command.optsWithGlobals<{ config?: string }>().config);
    });
};

const start = async (path: string | undefined): Promise<void> => {
  const loaded = await loadConfig({ path, env: process.env });
  // Only the embedded configuration has a demo key: one that lives as long as this process.
  const { keys, tiers } = loaded.config.auth;
  const demo = loaded.embedded && keys.use === 'memory' ? await demoKeyStore(tiers[0]!) : undefined;
  const app = await createApp(loaded, demo ? { keyStore: demo.store } : {});
  const stop = stopOnSignals(app, loaded.config.server);
  let url: string;
  let metricsUrl: string | null;
  try {
    ({ url, metricsUrl } = await app.listen());
  } catch (error) {
    await stop();
    throw listenFault(error as ListenError, loaded.config);
  }
  resolvePart(app.container, 'logger').info({ url, metricsUrl, config: loaded.path }, 'listening');
  process.stdout.write(`Listening on ${url}\n`);
  if (demo) {
    process.stdout.write(
      `This key is valid for this run. Try:\n\n  curl -H "Authorization: Bearer ${demo.key}" ${url}/markets/26420\n\n`,
    );
  }
};

const demoKeyStore = async (tier: string): Promise<{ store: KeyStore; key: string }> => {
  const store = new MemoryKeyStore();
  const { key, hash, id } = createKey();
  await store.insert({
    id,
    hash,
    name: 'demo',
    tier,
    limit_per_minute: null,
    created_at: new Date().toISOString(),
    expires_at: null,
    revoked_at: null,
  });
  return { store, key };
};

/** Stores have this long to say goodbye. They hold nothing that would be lost. */
const CLOSE_STORES_MS = 2000;

/** The first signal lets running requests finish, a second one ends at once. */
const stopOnSignals = (app: App, { drainDelayMs, drainMs }: ServerConfig): (() => Promise<void>) => {
  const logger = resolvePart(app.container, 'logger');
  const shutDown = async (delayMs: number): Promise<void> => {
    app.drain();
    await delay(delayMs);
    const closed = await Promise.race([app.close(), delay(drainMs + CLOSE_STORES_MS, 'late', { ref: false })]);
    if (closed === 'late') logger.warn('the stores did not close in time');
  };
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ signal }, 'shutting down');
    // Whoever interrupts at a terminal has no load balancer to wait for.
    shutDown(signal === 'SIGTERM' ? drainDelayMs : 0).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ err: error }, 'the shutdown failed');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  return () => app.close();
};
