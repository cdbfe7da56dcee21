/** A promise with a deadline. */

/** Rejects when `promise` has not settled after `ms`. What becomes of it later is ignored. */
export const within = <T>(promise: Promise<T>, ms: number): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After the event loop was busy, timers run before what has arrived meanwhile: let that be read first.
      setImmediate(() => reject(new Error(`There was no answer within ${ms} ms.`)));
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
