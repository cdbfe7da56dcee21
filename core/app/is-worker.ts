/** Whether this process is a worker of `Workers`. */

/** Set by `Workers` only: `cluster.isWorker` is also true under a process manager. */
export const WORKER_VARIABLE = 'METRO_FORECAST_WORKER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;
