/** What an adapter's author gives to the suite. */
import type { AdapterContext, Capabilities, Dataset, StorageAdapter } from 'metro-forecast-api/adapter';

export interface AdapterUnderTest {
  /** The heading of the tests. */
  readonly name: string;
  /** What the adapter declares: it chooses the tests that run. Left out, `durable` and `follows` are true. */
  readonly capabilities: Capabilities;
  /**
   * A new adapter, opened, over a store of its own in which `dataset` is current. Relative paths that
   * `context.resolvePath` resolves are in a folder of this adapter's own, which the suite removes.
   */
  create(dataset: Dataset, context: AdapterContext): Promise<StorageAdapter>;
  /**
   * A new adapter, not opened, over the store that `context.resolvePath` leads to: an empty one at first; the store of
   * another adapter, where that was made with a context of the same folder. Also called in another process, which
   * imports the test file again. Without it, tests of empty stores, and of several adapters over one, are skipped.
   */
  createEmpty?(context: AdapterContext): StorageAdapter | Promise<StorageAdapter>;
  /**
   * For an adapter that does not publish but notices: puts `dataset` in the place of what its store holds.
   * Without either, tests of what happens when the dataset changes are skipped.
   */
  replace?(adapter: StorageAdapter, dataset: Dataset): Promise<void>;
  /** Takes the backend away, and brings it back. Without both, tests of that are skipped. */
  breakBackend?(adapter: StorageAdapter): Promise<void>;
  repairBackend?(adapter: StorageAdapter): Promise<void>;
  /** Why no other process can be over the same store, where none can: its tests are skipped with this reason. */
  readonly noOtherProcess?: string;
  /** Removes what `create` or `createEmpty` made outside of its folder, once all adapters over it are closed. */
  cleanup?(adapter: StorageAdapter): Promise<void>;
}

/** Found by its symbol, so that a test file with its own copy of this package is understood too. */
const KEY = Symbol.for('metro-forecast-api/conformance');

/** Where `describeAdapter` hands over its adapter in a process that defines no tests. */
interface Targets {
  take?: (target: AdapterUnderTest) => void;
}

const shared = globalThis as { [KEY]?: Targets };
shared[KEY] ??= {};

export const targets: Targets = shared[KEY];
