/**
 * The environment variable that contains the number of workers. Identifies workers, because under a process manager
 * `cluster.isWorker` is also true in other processes.
 */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

/** The environment variable that contains the number of this worker. Log lines and metrics also contain this number. */
export const WORKER_NUMBER = 'METRO_FORECAST_WORKER_NUMBER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

export const workerNumber = (): number | undefined => (isWorker() ? Number(process.env[WORKER_NUMBER]) : undefined);

/** Returns 1 if this process is not a worker. */
export const workerCount = (): number => Number(process.env[WORKER_VARIABLE] ?? 1);
