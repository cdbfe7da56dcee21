/** Handles signals. This module imports little, since the handlers are installed before anything else is loaded. */

import type { Logger } from '../core/contracts/runtime.js';
import { isWorker } from '../core/util/is-worker.js';

interface SignalActions {
  readonly logger: Logger;
  /**
   * Ends the service. After SIGTERM, a load balancer has to notice the end first. After SIGINT, a user is waiting at a
   * terminal.
   */
  stop(signal: NodeJS.Signals): void;
}

let actions: SignalActions | undefined;
let reload: (() => void) | undefined;
let isReloadDue = false;
let isStopping = false;

/** Must be called before anything else. Until `onStop` is called, SIGTERM and SIGINT end the process at once. */
export const handleSignals = (): void => {
  // By default, SIGUSR1 makes Node open a port for its debugger, and SIGUSR2 ends the process.
  process.on('SIGUSR1', ignore).on('SIGUSR2', ignore);
  // A terminal sends signals to all processes. Workers ignore them, since the primary process ends its workers.
  const isPrimary = !isWorker();
  process.on('SIGTERM', isPrimary ? stop : ignore).on('SIGINT', isPrimary ? stop : ignore);
  // At a terminal, SIGHUP means that the terminal was closed. Otherwise it means that the configuration has changed.
  process.on('SIGHUP', !isPrimary ? ignore : process.stdout.isTTY ? stop : onHangup);
};

const ignore = (): void => undefined;

export const onStop = (given: SignalActions): void => {
  actions = given;
};

/** Calls `listener` at each SIGHUP, and immediately if a SIGHUP arrived during startup. */
export const onReload = (listener: () => void): void => {
  reload = listener;
  if (isReloadDue) listener();
};

const onHangup = (): void => {
  isReloadDue = true;
  reload?.();
};

/** The first signal lets running requests finish. A second one ends the process at once. */
const stop = (signal: NodeJS.Signals): void => {
  if (isStopping) process.exit(1);
  isStopping = true;
  if (!actions) process.exit(0);
  actions.logger.info({ signal }, 'shutting down');
  actions.stop(signal);
};
