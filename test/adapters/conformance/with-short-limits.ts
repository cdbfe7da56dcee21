import { timeLimits } from '../../../adapters/conformance/expect.js';

/** Shortens all time limits of the suite while `work` runs. Use it only for stores that are fast and expected to fail. */
export const withShortLimits = async <T>(work: () => Promise<T>): Promise<T> => {
  timeLimits.factor = 0.25;
  try {
    return await work();
  } finally {
    timeLimits.factor = 1;
  }
};
