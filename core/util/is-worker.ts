/** Whether this process is a worker that `Workers` has started. */

/**
 * Contains the number of workers. Only `Workers` sets it. `cluster.isWorker` would also be true under a process
 * manager.
 */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

/** Contains the number of this worker, which is also in its log lines and in the labels of its metrics. */
export const WORKER_NUMBER = 'METRO_FORECAST_WORKER_NUMBER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

/** Returns the number of this worker, counted from 1. */
export const workerNumber = (): number | undefined => (isWorker() ? Number(process.env[WORKER_NUMBER]) : undefined);

/** Returns the number of workers of the service. In a process that is not a worker, returns 1. */
export const workerCount = (): number => Number(process.env[WORKER_VARIABLE] ?? 1);
