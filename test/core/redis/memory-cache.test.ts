/** The cache of a single process, on a clock of our own. */
import { MemoryCache } from '../../../core/redis/memory-cache.js';
import { defineCacheSuite } from './cache-suite.js';

defineCacheSuite('MemoryCache', async () => {
  let now = 0;
  return {
    replicas: [new MemoryCache({ clock: { now: () => 0, monotonic: () => now } })],
    wait: async (ms) => {
      now += ms;
      // Lets whatever is ready go on, as real waiting would.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
});
