/** What signals do to a service. Imports little, since the handlers are installed before anything else is loaded. */
import { isWorker } from '../core/app/is-worker.js';
import type { Logger } from '../core/contracts/runtime.js';

interface SignalActions {
  readonly logger: Logger;
  /** Ends the service. SIGTERM: a load balancer has to notice first. SIGINT: someone waits at a terminal. */
  stop(signal: NodeJS.Signals): void;
}

let actions: SignalActions | undefined;
let reload: (() => void) | undefined;
let isReloadDue = false;
let isStopping = false;

/** To be called first. Until `onStop`, SIGTERM and SIGINT end the process at once. */
export const handleSignals = (): void => {
  // By default SIGUSR1 makes Node open its debugger on a port, and SIGUSR2 ends the process.
  process.on('SIGUSR1', ignore).on('SIGUSR2', ignore);
  // A terminal sends signals to all processes, and the primary process ends its workers.
  const isPrimary = !isWorker();
  process.on('SIGTERM', isPrimary ? stop : ignore).on('SIGINT', isPrimary ? stop : ignore);
  // At a terminal SIGHUP means that the terminal was closed; elsewhere, that the configuration has changed.
  process.on('SIGHUP', !isPrimary ? ignore : process.stdout.isTTY ? stop : onHangup);
};

const ignore = (): void => undefined;

export const onStop = (given: SignalActions): void => {
  actions = given;
};

/** Called at each SIGHUP, and at once if one came during the start. */
export const onReload = (listener: () => void): void => {
  reload = listener;
  if (isReloadDue) listener();
};

const onHangup = (): void => {
  isReloadDue = true;
  reload?.();
};

/** The first signal lets running requests finish, a second one ends the process at once. */
const stop = (signal: NodeJS.Signals): void => {
  if (isStopping) process.exit(1);
  isStopping = true;
  if (!actions) process.exit(0);
  actions.logger.info({ signal }, 'shutting down');
  actions.stop(signal);
};
