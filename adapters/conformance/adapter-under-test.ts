/** The options of `describeAdapter`. */
import type { AdapterContext, Capabilities, Dataset, StorageAdapter } from 'metro-forecast-api/adapter';

export interface AdapterUnderTest {
  /** The heading of the tests. */
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
   * Returns an adapter that is not open yet and uses the store in the folder of `context.resolvePath`. The store is
   * empty, or was created by another adapter with the same folder. The suite also calls this function in another
   * process, which imports the test file again. Without this function, the suite skips tests of empty stores and of
   * several adapters that use the same store.
   */
  createEmpty?(context: AdapterContext): StorageAdapter | Promise<StorageAdapter>;
  /**
   * Replaces the dataset in the store. Needed for adapters that follow a dataset but do not publish. If an adapter has
   * neither `publish` nor `replace`, tests of changes are skipped.
   */
  replace?(adapter: StorageAdapter, dataset: Dataset): Promise<void>;
  /**
   * Makes the backend unreachable; `repairBackend` makes it reachable again. If either is missing, tests of outages
   * are skipped.
   */
  breakBackend?(adapter: StorageAdapter): Promise<void>;
  repairBackend?(adapter: StorageAdapter): Promise<void>;
  /**
   * The reason why a second process cannot open the same store. If it is set, tests with a second process are skipped
   * and report this reason.
   */
  readonly noOtherProcess?: string;
  /**
   * Removes everything that `create` or `createEmpty` created outside the folder. The suite calls it after closing all
   * adapters that use the store.
   */
  cleanup?(adapter: StorageAdapter): Promise<void>;
}

/** A symbol from the global registry, because a test file may load its own copy of this package. */
const KEY = Symbol.for('metro-forecast-api/conformance');

/** A process that runs no tests sets `take` to receive the adapter that is passed to `describeAdapter`. */
interface Targets {
  take?: (target: AdapterUnderTest) => void;
}

const shared = globalThis as { [KEY]?: Targets };
shared[KEY] ??= {};

export const targets: Targets = shared[KEY];
