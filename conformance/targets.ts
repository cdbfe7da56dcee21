/** Where `describeAdapter` hands over its adapter in a process that defines no tests. */
import type { AdapterUnderTest } from './adapter-under-test.js';

/** Found by its symbol, so that a test file with its own copy of this package is understood too. */
const KEY = Symbol.for('metro-forecast-api/conformance');

interface Targets {
  /** Takes an adapter, where no tests are wanted. */
  take?: (target: AdapterUnderTest) => void;
}

const shared = globalThis as { [KEY]?: Targets };
shared[KEY] ??= {};

export const targets: Targets = shared[KEY];
