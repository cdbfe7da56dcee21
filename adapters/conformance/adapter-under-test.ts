import type { AdapterContext, Capabilities, Dataset, StorageAdapter } from 'metro-forecast-api/adapter';

export interface AdapterUnderTest {
  readonly name: string;
  /**
   * The capabilities that the adapter declares. Tests of undeclared capabilities are skipped. `durable` and `follows`
   * default to true.
   */
  readonly capabilities: Capabilities;
  /**
   * Returns an open adapter with a new store whose current dataset is `dataset`. `context.resolvePath` resolves
   * relative paths against a temporary folder. Each store has its own folder, which the suite removes afterwards.
   */
  create(dataset: Dataset, context: AdapterContext): Promise<StorageAdapter>;
  /**
   * Returns an adapter that has not been opened yet. It uses the store in the folder of `context.resolvePath`. This
   * store is empty or was created by another adapter with the same folder. The suite also calls this function in a
   * second process, which imports the test file again. Without this function, the suite skips tests of empty stores and
   * of adapters that share a store.
   */
  createEmpty?(context: AdapterContext): StorageAdapter | Promise<StorageAdapter>;
  /**
   * Replaces the dataset in the store. Needed for adapters that follow a dataset but cannot publish. Tests of changes
   * are skipped if there is neither `publish` nor `replace`.
   */
  replace?(adapter: StorageAdapter, dataset: Dataset): Promise<void>;
  /**
   * Makes the backend unreachable until `repairBackend` is called. If either function is missing, tests of outages are
   * skipped.
   */
  breakBackend?(adapter: StorageAdapter): Promise<void>;
  repairBackend?(adapter: StorageAdapter): Promise<void>;
  /**
   * The reason why a second process cannot open the same store. If set, tests with a second process are skipped and
   * show this reason.
   */
  readonly noOtherProcess?: string;
  /**
   * Removes everything that `create` or `createEmpty` created outside the folder. Called after all adapters that use
   * the store have been closed.
   */
  cleanup?(adapter: StorageAdapter): Promise<void>;
}

/** A global symbol, because a test file may load its own copy of this package. */
const KEY = Symbol.for('metro-forecast-api/conformance');

/** A process that runs no tests sets `take` to receive the target passed to `describeAdapter`. */
interface Targets {
  take?: (target: AdapterUnderTest) => void;
}

const shared = globalThis as { [KEY]?: Targets };
shared[KEY] ??= {};

export const targets: Targets = shared[KEY];
