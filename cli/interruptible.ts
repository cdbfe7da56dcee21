import { OperatorError } from '../core/errors.js';

const isAbort = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'AbortError' || (error as { code?: unknown }).code === 'aborted' || isAbort(error.cause));

/**
 * Runs a task with a signal that is aborted on Ctrl-C or SIGTERM, so that the task can clean up.
 * @param result what the interruption means for the user
 * @throws OperatorError with `result` if the task was aborted
 */
export const interruptible = async <T>(result: string, task: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const controller = new AbortController();
  const abort = () => controller.abort();
  process.once('SIGINT', abort).once('SIGTERM', abort);
  try {
    return await task(controller.signal);
  } catch (cause) {
    throw controller.signal.aborted && isAbort(cause) ? new OperatorError(result, [], { cause }) : cause;
  } finally {
    process.off('SIGINT', abort).off('SIGTERM', abort);
  }
};
