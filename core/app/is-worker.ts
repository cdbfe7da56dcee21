/** Whether this process is a worker that `Workers` has started. */

/**
 * Contains the number of workers. Only `Workers` sets it. `cluster.isWorker` would also be true under a process
 * manager.
 */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

/** Returns the number of workers of the service. In a process that is not a worker, returns 1. */
export const workerCount = (): number => Number(process.env[WORKER_VARIABLE] ?? 1);
