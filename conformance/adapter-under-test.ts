/** What an adapter's author gives to the suite. */
import type { AdapterContext, Capabilities, Dataset, StorageAdapter } from '../core/contracts/storage.js';

export interface AdapterUnderTest {
  /** The heading of the tests. */
  readonly name: string;
  /** What the adapter declares: it chooses the tests that run. */
  readonly capabilities: Capabilities;
  /**
   * A new adapter, opened, over a store of its own in which `dataset` is current. Relative paths that
   * `context.resolvePath` resolves are in a folder of this adapter's own, which the suite removes.
   */
  create(dataset: Dataset, context: AdapterContext): Promise<StorageAdapter>;
  /** A new adapter, not opened, over an empty store of its own. Without it, tests of such stores are skipped. */
  createEmpty?(context: AdapterContext): StorageAdapter | Promise<StorageAdapter>;
  /**
   * For an adapter that does not publish but notices: puts `dataset` in the place of what its store holds.
   * Without either, tests of what happens when the dataset changes are skipped.
   */
  replace?(adapter: StorageAdapter, dataset: Dataset): Promise<void>;
  /** Takes the backend away, and brings it back. Without both, tests of that are skipped. */
  breakBackend?(adapter: StorageAdapter): Promise<void>;
  repairBackend?(adapter: StorageAdapter): Promise<void>;
  /** Removes what `create` or `createEmpty` made outside of its folder. The adapter is closed by then. */
  cleanup?(adapter: StorageAdapter): Promise<void>;
}
