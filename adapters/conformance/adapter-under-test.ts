/** The options of `describeAdapter`. */
import type { AdapterContext, Capabilities, Dataset, StorageAdapter } from 'metro-forecast-api/adapter';

export interface AdapterUnderTest {
  /** The heading of the tests. */
  readonly name: string;
  /**
   * The capabilities that the adapter declares. Tests of missing ones are skipped. `durable` and `follows` default to
   * true.
   */
  readonly capabilities: Capabilities;
  /**
   * Returns an open adapter over a new store in which `dataset` is current. `context.resolvePath` resolves relative
   * paths in a temporary folder, one per store, which the suite removes.
   */
  create(dataset: Dataset, context: AdapterContext): Promise<StorageAdapter>;
  /**
   * Returns an adapter that is not open, over the store in the folder of `context.resolvePath`. The store is empty, or
   * was created by another adapter with the same folder. The suite also calls it in another process, which imports the
   * test file again. Without it, tests of empty stores and of several adapters over one store are skipped.
   */
  createEmpty?(context: AdapterContext): StorageAdapter | Promise<StorageAdapter>;
  /**
   * For adapters that follow a dataset but do not publish: replaces the dataset in the store. Without `publish` and
   * `replace`, tests of changes are skipped.
   */
  replace?(adapter: StorageAdapter, dataset: Dataset): Promise<void>;
  /**
   * Makes the backend unreachable; `repairBackend` makes it reachable again. Without both, tests of outages are
   * skipped.
   */
  breakBackend?(adapter: StorageAdapter): Promise<void>;
  repairBackend?(adapter: StorageAdapter): Promise<void>;
  /**
   * The reason why a second process cannot open the same store. Tests with a second process are skipped with this
   * reason.
   */
  readonly noOtherProcess?: string;
  /**
   * Removes what `create` or `createEmpty` created outside the folder. Called after all adapters over the store are
   * closed.
   */
  cleanup?(adapter: StorageAdapter): Promise<void>;
}

/** A global symbol, since a test file may load its own copy of this package. */
const KEY = Symbol.for('metro-forecast-api/conformance');

/** A process that defines no tests sets `take` to receive the adapter from `describeAdapter`. */
interface Targets {
  take?: (target: AdapterUnderTest) => void;
}

const shared = globalThis as { [KEY]?: Targets };
shared[KEY] ??= {};

export const targets: Targets = shared[KEY];
