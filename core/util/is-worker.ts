/**
 * The environment variable that contains the number of workers. Only workers of this service have it.
 * `cluster.isWorker` is also true for other processes that a process manager starts.
 */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

/** The environment variable that contains the number of this worker, which log lines and metrics also contain. */
export const WORKER_NUMBER = 'METRO_FORECAST_WORKER_NUMBER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

export const workerNumber = (): number | undefined => (isWorker() ? Number(process.env[WORKER_NUMBER]) : undefined);

/** Returns the number of workers, or 1 if this process is not a worker. */
export const workerCount = (): number => Number(process.env[WORKER_VARIABLE] ?? 1);
