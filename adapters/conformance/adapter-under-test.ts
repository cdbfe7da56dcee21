import type { AdapterContext, Capabilities, Dataset, StorageAdapter } from 'metro-forecast-api/adapter';

export interface AdapterUnderTest {
  readonly name: string;
  /**
   * The adapter's declared capabilities. Tests of undeclared capabilities are skipped. `durable` and `follows` default
   * to true.
   */
  readonly capabilities: Capabilities;
  /**
   * Returns an open adapter with a new store that contains `dataset`. `context.resolvePath` resolves paths relative to
   * a temporary folder, which is different for each store and which the suite removes.
   */
  create(dataset: Dataset, context: AdapterContext): Promise<StorageAdapter>;
  /**
   * Returns an adapter that has not been opened. Its store, in the folder of `context.resolvePath`, is empty or was
   * created by another adapter. The suite also calls this function in a second process, which imports the test file
   * again. Without this function, tests of empty stores and of adapters that share a store are skipped.
   */
  createEmpty?(context: AdapterContext): StorageAdapter | Promise<StorageAdapter>;
  /**
   * Replaces the dataset in the store. Needed for an adapter that cannot publish but follows changes to its dataset.
   * Without `publish` and `replace`, tests of changes are skipped.
   */
  replace?(adapter: StorageAdapter, dataset: Dataset): Promise<void>;
  /**
   * Makes the backend unreachable until `repairBackend` is called. Without both functions, tests of outages are
   * skipped.
   */
  breakBackend?(adapter: StorageAdapter): Promise<void>;
  repairBackend?(adapter: StorageAdapter): Promise<void>;
  /**
   * Makes the stored dataset invalid, so that `open()` of another adapter rejects with `invalid_dataset`. Without this
   * function, tests of invalid datasets are skipped.
   */
  damage?(adapter: StorageAdapter): Promise<void>;
  /**
   * Explains why a second process cannot open the same store. Tests with a second process are then skipped and show
   * this reason.
   */
  readonly noOtherProcess?: string;
  /**
   * Removes everything that `create` and `createEmpty` created outside the folder. Called once all adapters of the
   * store have been closed.
   */
  cleanup?(adapter: StorageAdapter): Promise<void>;
}

/** A global symbol works even if a test file loads another copy of this package. */
const KEY = Symbol.for('metro-forecast-api/conformance');

/** `take` is set only in a process that runs no tests. It receives the adapter that was passed to `describeAdapter`. */
interface Targets {
  take?: (target: AdapterUnderTest) => void;
}

const shared = globalThis as { [KEY]?: Targets };
shared[KEY] ??= {};

export const targets: Targets = shared[KEY];
