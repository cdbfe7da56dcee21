export const withTimeout = <T>(
  promise: Promise<T>,
  ms: number,
  failure: () => Error = () => new Error(`There was no response within ${ms} ms.`),
): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // If the event loop was blocked, the timer runs before pending I/O. Waiting for that I/O gives the promise a last
      // chance to settle.
      setImmediate(() => reject(failure()));
    }, ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
