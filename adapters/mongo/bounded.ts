/** Bounds every wait for MongoDB, and names its errors in the terms of the storage contract. */
import { StorageError } from 'metro-forecast-api/adapter';

/** A `StorageError` as it is, and any other error as one that says `unavailable`. */
export const toStorageError = (error: unknown, what: string): StorageError =>
  error instanceof StorageError
    ? error
    : new StorageError('unavailable', `MongoDB could not ${what}: ${(error as Error).message}`, { cause: error });

/**
 * Settles as `work` does, but rejects with `unavailable` after `ms`, and with `aborted` as soon as `signal` is.
 *
 * The driver bounds the stages of an operation (selecting a server, waiting for a connection, reading from the socket)
 * but not their sum, nor a retry. Operations that `work` has begun end by those inner limits soon after.
 */
export const bounded = <T>(
  what: string,
  ms: number,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    const abort = () => {
      settle();
      reject(new StorageError('aborted', `Aborted while MongoDB was to ${what}.`, { cause: signal?.reason }));
    };
    const timer = setTimeout(() => {
      settle();
      reject(new StorageError('unavailable', `MongoDB did not ${what} within ${ms} ms.`));
    }, ms);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort, { once: true });
    work().then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(toStorageError(error, what));
      },
    );
  });
