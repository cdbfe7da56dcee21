import { MemoryCache } from '../../../core/cache/memory-cache.js';
import { defineCacheSuite } from './cache-suite.js';

defineCacheSuite('MemoryCache', async () => {
  let now = 0;
  return {
    replicas: [new MemoryCache({ clock: { now: () => 0, monotonic: () => now } })],
    wait: async (ms) => {
      now += ms;
      // Pending promises must settle, as they would during a real delay.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
});
