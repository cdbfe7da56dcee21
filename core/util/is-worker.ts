/** The number of workers. Only `Workers` sets it. `cluster.isWorker` would also be true under a process manager. */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

/** The number of this worker, which also appears in its log lines and metric labels. */
export const WORKER_NUMBER = 'METRO_FORECAST_WORKER_NUMBER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

export const workerNumber = (): number | undefined => (isWorker() ? Number(process.env[WORKER_NUMBER]) : undefined);

/** Returns the number of workers of the service, or 1 if this process is not a worker. */
export const workerCount = (): number => Number(process.env[WORKER_VARIABLE] ?? 1);
