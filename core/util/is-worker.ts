/**
 * Identifies the workers of this service. `cluster.isWorker` is also true for other processes that a process manager
 * starts.
 */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

export const WORKER_NUMBER = 'METRO_FORECAST_WORKER_NUMBER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

export const workerNumber = (): number | undefined => (isWorker() ? Number(process.env[WORKER_NUMBER]) : undefined);

export const workerCount = (): number => Number(process.env[WORKER_VARIABLE] ?? 1);
