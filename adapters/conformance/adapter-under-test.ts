import type { AdapterContext, Capabilities, Dataset, StorageAdapter } from 'metro-forecast-api/adapter';

export interface AdapterUnderTest {
  readonly name: string;
  /**
   * The capabilities that the adapter declares. Tests of other capabilities are skipped. `durable` and `follows`
   * default to true.
   */
  readonly capabilities: Capabilities;
  /**
   * Returns an open adapter with a new store that contains `dataset`. Each store has a temporary folder, to which
   * `context.resolvePath` resolves relative paths. The suite removes this folder.
   */
  create(dataset: Dataset, context: AdapterContext): Promise<StorageAdapter>;
  /**
   * Returns an adapter that is not open yet. The store in the folder of `context.resolvePath` is empty, or was created
   * by another adapter. The suite also calls this function in a second process, which imports the test file again. If
   * this function is missing, the suite skips tests of empty stores and of adapters that share a store.
   */
  createEmpty?(context: AdapterContext): StorageAdapter | Promise<StorageAdapter>;
  /**
   * Replaces the dataset in the store. Needed for an adapter that cannot publish but follows changes to its dataset.
   * Without `publish` and `replace`, tests of changes are skipped.
   */
  replace?(adapter: StorageAdapter, dataset: Dataset): Promise<void>;
  /**
   * Makes the backend unreachable until `repairBackend` is called. If one of these functions is missing, tests of
   * outages are skipped.
   */
  breakBackend?(adapter: StorageAdapter): Promise<void>;
  repairBackend?(adapter: StorageAdapter): Promise<void>;
  /**
   * Explains why a second process cannot open the same store. Tests with a second process are then skipped and show
   * this reason.
   */
  readonly noOtherProcess?: string;
  /**
   * Removes everything that `create` and `createEmpty` have created outside the folder. Called after all adapters on
   * the store were closed.
   */
  cleanup?(adapter: StorageAdapter): Promise<void>;
}

/** A global symbol works even if a test file loads its own copy of this package. */
const KEY = Symbol.for('metro-forecast-api/conformance');

/** `take` is set only in a process that runs no tests. It receives the target that was passed to `describeAdapter`. */
interface Targets {
  take?: (target: AdapterUnderTest) => void;
}

const shared = globalThis as { [KEY]?: Targets };
shared[KEY] ??= {};

export const targets: Targets = shared[KEY];
