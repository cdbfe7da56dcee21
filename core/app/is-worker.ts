/** Whether this process is a worker of `Workers`. */

/**
 * Contains the number of workers. Set by `Workers` only: `cluster.isWorker` is also true under a process manager.
 */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

/** The number of workers of the service, or 1 outside a worker. */
export const workerCount = (): number => Number(process.env[WORKER_VARIABLE] ?? 1);
