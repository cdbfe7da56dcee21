import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';

/** The kinds are `constants.NODE_PERFORMANCE_GC_*` of `node:perf_hooks`. Times are in milliseconds. */
export type GarbageCollection = PerformanceEntry & { readonly detail: { readonly kind: number } };

/**
 * Calls a listener some time after each garbage collection.
 * @returns a function that stops the calls
 */
export const onGarbageCollection = (listener: (collection: GarbageCollection) => void): (() => void) => {
  const observer = new PerformanceObserver((list) => {
    for (const collection of list.getEntries() as GarbageCollection[]) listener(collection);
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
};
