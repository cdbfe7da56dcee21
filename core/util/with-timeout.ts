export const withTimeout = <T>(
  promise: Promise<T>,
  ms: number,
  failure: () => Error = () => new Error(`There was no response within ${ms} ms.`),
): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After a busy turn of the event loop, timers run before pending I/O, which might still settle the promise.
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
