/**
 * Handles signals. This module has few imports, because it must install the handlers before anything else is loaded.
 */

import type { Logger } from '../core/contracts/runtime.js';
import { isWorker } from '../core/util/is-worker.js';

interface SignalActions {
  readonly logger: Logger;
  /** SIGINT usually comes from a user at a terminal, so the service should stop without delay. */
  stop(signal: NodeJS.Signals): void;
}

let actions: SignalActions | undefined;
let reload: (() => void) | undefined;
let isReloadDue = false;
let isStopping = false;

/**
 * Installs the signal handlers. Must be called before anything else. Until `onStop` is called, SIGTERM and SIGINT exit
 * the process immediately.
 */
export const handleSignals = (): void => {
  // By default, SIGUSR1 makes Node open a port for its debugger, and SIGUSR2 kills the process.
  process.on('SIGUSR1', ignore).on('SIGUSR2', ignore);
  // A terminal sends signals to all processes. Workers ignore them, because the primary process stops its workers.
  const isPrimary = !isWorker();
  process.on('SIGTERM', isPrimary ? stop : ignore).on('SIGINT', isPrimary ? stop : ignore);
  // In a terminal, SIGHUP means that the terminal was closed. Otherwise, SIGHUP requests a reload.
  process.on('SIGHUP', !isPrimary ? ignore : process.stdout.isTTY ? stop : onHangup);
};

const ignore = (): void => undefined;

export const onStop = (given: SignalActions): void => {
  actions = given;
};

/** Calls `listener` on every SIGHUP, and immediately if SIGHUP arrived during startup. */
export const onReload = (listener: () => void): void => {
  reload = listener;
  if (isReloadDue) listener();
};

const onHangup = (): void => {
  isReloadDue = true;
  reload?.();
};

/** After the first signal, running requests can finish. A second signal exits immediately. */
const stop = (signal: NodeJS.Signals): void => {
  if (isStopping) process.exit(1);
  isStopping = true;
  if (!actions) process.exit(0);
  actions.logger.info({ signal }, 'shutting down');
  actions.stop(signal);
};
