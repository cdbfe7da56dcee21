/** The contract for storage adapters: everything that the framework requires of a store, for any dataset. */
import type { DataAudit, DataAuditEntry } from './audit.js';
import type { Collection, Document, Manifest } from './dataset.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Logger } from './runtime.js';

/**
 * The value of a field in a key or an order. Strings are compared by Unicode code point, without collation, case
 * folding, normalization or trimming. Numbers are compared as doubles, so -0 equals 0. The empty string and 0 are
 * ordinary values.
 */
export type Scalar = string | number;

/** A query for documents. The framework has validated the query, so adapters can trust every field. */
export interface Query {
  /** The sort order: the key of the collection, or one of its declared `orders`. */
  readonly order: readonly string[];
  /** Values that the first field or fields of `order` must have. */
  readonly equal?: Readonly<Record<string, Scalar>>;
  /**
   * Inclusive bounds for one field of `order` that is not in `equal`. If `from` is greater than `to`, nothing matches.
   */
  readonly range?: { readonly field: string; readonly from?: Scalar; readonly to?: Scalar };
  /** True to return documents in the exact reverse of `order`. */
  readonly descending?: boolean;
  /**
   * Returns only documents after this position, in the direction of the query. A position contains one value for each
   * field of `order`, in the same order. Fields in `equal` are left out. The store need not contain a document with
   * these values.
   */
  readonly after?: readonly Scalar[];
  /** The maximum number of documents that the query returns. 0 returns none. */
  readonly limit?: number;
  /**
   * Words that must all occur in the `search` fields of the document. A word that ends in `*` is a prefix. Requires the
   * capability `search`. Use `wordsOf` to split text into words.
   */
  readonly words?: readonly string[];
}

/**
 * How a condition compares a field with a value:
 * - `eq`: equals the value
 * - `not`: differs from the value; null differs from every value
 * - `in`: equals one of several values
 * - `gt`, `gte`, `lt`, `lte`: compare in `Scalar` order; null never matches
 * - `null`: with `true`, matches null and missing values; with `false`, matches all other values
 */
export type Operator = 'eq' | 'not' | 'in' | 'gt' | 'gte' | 'lt' | 'lte' | 'null';

/** A condition on a field. The values of the field have one type (string, number or boolean) or are null. */
export interface Condition<Field extends string = string> {
  readonly field: Field;
  readonly operator: Operator;
  /** The value to compare with, of the same type as the field. `in` takes a list, and `null` takes a boolean. */
  readonly value: Scalar | boolean | readonly Scalar[];
}

/** A query for totals of all matching documents, grouped by up to two fields. */
export interface TotalsQuery {
  readonly where: readonly Condition[];
  readonly words?: readonly string[];
  /**
   * The fields to group by. The values of a field have one type (string, number or boolean) or are null. If the list is
   * empty, all documents are in one group.
   */
  readonly by: readonly string[];
  /** The numeric field to total. Null and missing values are ignored. */
  readonly of?: string;
  /** The maximum number of groups. If there are more, the store can choose which groups to return. */
  readonly limit: number;
}

/** The documents that have the same values in the `by` fields. */
export interface Group {
  /** The values of the `by` fields. A missing value counts as null. */
  readonly values: readonly (Scalar | boolean | null)[];
  readonly count: number;
  /** Totals of the `of` field. Undefined if the query has no `of`, or if the group contains no numbers. */
  readonly numbers?: NumberTotals;
}

export interface NumberTotals {
  readonly count: number;
  /**
   * The sum of the field, accurate to 15 significant digits unless large numbers cancel out. Such accuracy requires
   * compensated summation.
   */
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** Consecutive documents as they are stored: UTF-8 JSON objects without line breaks, separated by single commas. */
export interface JsonRows {
  readonly json: Buffer;
  /** The offset in `json` at which each document ends. The next document starts after the comma. */
  readonly ends: readonly number[];
}

/**
 * A published version of the dataset. A snapshot remains readable and unchanged until `release()` is called. Documents
 * are returned exactly as published: they have the same fields, including null ones, and identical strings and numbers
 * (except that -0 may become 0). Each document is a copy or deeply frozen, so that callers cannot affect each other.
 */
export interface Snapshot {
  readonly version: string;
  /**
   * The time when the version was published or last activated, with millisecond precision. In a snapshot from
   * `asOf(time)`, activations after `time` do not count.
   */
  readonly publishedAt: Date;
  /** The manifest exactly as published. `created` is the same string, and not a reformatted time. */
  readonly manifest: Manifest;
  /**
   * Resolves with the document that has this key, or with undefined if there is none.
   * @param key the values of the key fields, in key order
   * @param signal aborts the read, which then rejects with `aborted`
   */
  get(collection: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined>;
  /** Like `get`, but resolves with the document as one line of JSON text. Requires the capability `json`. */
  getJson?(collection: string, key: readonly Scalar[], signal?: AbortSignal): Promise<string | undefined>;
  /**
   * Yields the matching documents in order, in batches of any size. A batch must not change after it has been yielded.
   */
  find(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<readonly Document[]>;
  /**
   * Like `find`, but yields the documents as JSON text, for lists that are sent exactly as stored. Requires the
   * capability `json`.
   */
  findJson?(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<JsonRows>;
  /**
   * Resolves with the groups in any order. Without `by`, the result is always one group, even if no document matches.
   * Resolves with undefined if the adapter would have to read all documents one by one. In this case, the framework
   * reads them, up to a limit. Requires the capability `totals`.
   * @param onWait pauses the timeout, and returns a function that resumes it. The adapter must call `onWait` if the
   *   query has to wait for other queries. It must call the returned function when the query starts.
   */
  totals?(
    collection: string,
    query: TotalsQuery,
    signal?: AbortSignal,
    onWait?: () => () => void,
  ): Promise<readonly Group[] | undefined>;
  /** True if queries can use `words`. Requires the capability `search`. */
  readonly searches?: boolean;
  /** Releases this snapshot's lock on its version. Further calls have no effect. */
  release(): void;
}

/** A store of published datasets. Its methods reject only with a `StorageError` (see `core/errors.ts`). */
export interface StorageAdapter {
  /**
   * Opens the store. Resolves even if the backend is unreachable, provided that the adapter reconnects automatically.
   */
  open(): Promise<void>;
  /** Closes the store. Can be called at any time, and more than once. */
  close(): Promise<void>;
  /** Rejects with the code `unavailable` if the backend cannot be read. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Returns the current snapshot, locked until `release()` is called. Throws `unavailable` if there is none. */
  snapshot(): Snapshot;
  /**
   * Makes the dataset the current snapshot. Changes nothing if it rejects. If `open` has rejected with
   * `invalid_dataset`, `publish` replaces the invalid dataset. If another publication is in progress, `publish` waits
   * or rejects with `conflict`. After the promise has settled, the adapter must not use the documents or the manifest,
   * because the publisher can change them. Requires the capability `publish`.
   */
  publish?(dataset: Dataset, options?: PublishOptions): Promise<void>;
  /**
   * Checks the structure of the stored files for the command `doctor`. Resolves with one sentence per problem.
   * @param full also compares every index with its rows, which takes longer
   */
  checkIntegrity?(full: boolean): Promise<readonly string[]>;
  /** Lists, activates and deletes versions. Requires the capability `versions`. */
  readonly versions?: Versions;
  /** The audit log of the dataset. Requires the capability `audit`. */
  readonly audit?: DataAudit;
  /**
   * Publication times and the audit log, for backups. If an adapter lacks this property, backups contain only the
   * versions.
   */
  readonly history?: History;
}

/** How an open adapter notices changes that other adapters make to the store. */
export interface Following {
  /** The maximum delay, in milliseconds, before `snapshot()` returns changed data and `changed()` is called. */
  readonly withinMs: number;
  /** The default interval between polls of the store, in milliseconds. 0 if the store pushes changes. */
  readonly pollMs: number;
}

/** Size limits of a store. A larger value is either stored completely or rejected with `invalid_dataset`. */
export interface StoreLimits {
  /**
   * The maximum size of a key, or of the fields of an order: strings in UTF-8 bytes, plus 8 per number. Default: 2,000.
   */
  readonly keyBytes?: number;
  /** The maximum size of a document in bytes of UTF-8 JSON. Default: 1,048,576. */
  readonly rowBytes?: number;
}

/** What an adapter supports. The conformance suite skips the tests for capabilities that an adapter does not have. */
export interface Capabilities {
  readonly publish: boolean;
  readonly versions: boolean;
  /** True if other adapters on the same store, in any process, see published datasets. Default: true. */
  readonly durable?: boolean;
  /**
   * How an open adapter detects versions that another adapter publishes or activates. `true` means that it detects them
   * within 5 seconds. Default: true.
   */
  readonly follows?: boolean | Following;
  /** True if only one process at a time can open the store. In other processes, `open` rejects. Default: false. */
  readonly exclusive?: boolean;
  readonly limits?: StoreLimits;
  /** True if the adapter has an audit log. Default: false. */
  readonly audit?: boolean;
  /** True if snapshots have `getJson` and `findJson`, because rows are stored as JSON text. Default: false. */
  readonly json?: boolean;
  /** True if snapshots have `totals`. Default: false. */
  readonly totals?: boolean;
  /** True if snapshots can search the `search` fields of collections. Default: false. */
  readonly search?: boolean;
}

/** A dataset to publish: a manifest, and the documents of each collection in key order. */
export interface Dataset {
  readonly manifest: Manifest;
  /** Yields all rows of a collection in key order, in batches of any size. A batch can be empty. */
  read(collection: string): AsyncIterable<readonly Document[]>;
}

export interface PublishOptions {
  readonly onProgress?: (progress: { collection: string; written: number; total: number | undefined }) => void;
  readonly signal?: AbortSignal;
  /** Called at most once, with a message to display, if the publication has to wait. */
  readonly onWait?: (sentence: string) => void;
  /** Called once, with the reason, after the publication has replaced a damaged dataset. */
  readonly onRepair?: (reason: string) => void;
}

export interface Versions {
  /** Resolves with all versions, most recently published first. Activation does not change `publishedAt`. */
  list(): Promise<readonly { version: string; publishedAt: Date; current: boolean; held: boolean }[]>;
  /** Makes a version current. Has no effect if the version is already current. */
  activate(version: string): Promise<void>;
  /**
   * Deletes all versions except the newest `keep` (0 or more), the current one and locked ones. Resolves with the names
   * of the deleted versions.
   */
  prune(keep: number): Promise<readonly string[]>;
  /**
   * Resolves with the snapshot that was current at `time`, locked until `release()` is called. Resolves with undefined
   * if `time` is before the first publication, or if that version has been deleted.
   */
  asOf(time: Date): Promise<Snapshot | undefined>;
}

/** Records that a version became current. */
export interface Move {
  /** The name of the version. Null if the version has been deleted. */
  readonly version: string | null;
  readonly publishedAt: Date;
}

/** What a backup stores in addition to the versions. */
export interface StoredHistory {
  /** One entry for each time that a version became current, oldest first. */
  readonly moves: readonly Move[];
  /** All audit entries, oldest first, including entries for changes that were never made. */
  readonly audit: readonly DataAuditEntry[];
}

export interface History {
  read(): Promise<StoredHistory>;
  /** Deletes all versions and the audit log. The names of the deleted versions can then be used again. */
  clear(): Promise<void>;
  /**
   * Replaces all publication times, the current version and the audit log. A restore publishes all versions, oldest
   * first, and then calls this method. An adapter that is opened afterwards returns the replaced data. Adapters that
   * store only one version ignore the times.
   * @param history.versions all versions in the store with their publication times, oldest first
   */
  write(history: StoredHistory & { readonly versions: readonly (Move & { version: string })[] }): Promise<void>;
}

/** The context that the framework passes to the `create` function of an adapter module. */
export interface AdapterContext {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Resolves a path in the adapter's options relative to the folder of the configuration file. */
  resolvePath(path: string): string;
  /**
   * The adapter must call this function each time `snapshot()` starts to return a different version, and at no other
   * time.
   */
  changed(): void;
  /**
   * The adapter calls this function with a message for `/status` when a problem occurs, and without an argument when
   * the problem is solved.
   */
  problem(sentence?: string): void;
  /** Reports how long the backend took for a read, in milliseconds, for the metrics (optional). */
  timed?(ms: number): void;
}

/** The default export of an adapter package. */
export interface AdapterModule<Options = unknown> {
  readonly kind: 'adapter';
  readonly name: string;
  readonly version: string;
  readonly capabilities: Capabilities;
  /** JSON Schema for the options of the adapter. */
  readonly options: JsonSchema;
  /**
   * Finds errors in options that their schema cannot detect. Returns error messages by option name. Each message
   * completes a sentence that starts with the name, such as `must be a directory`, and must not reveal secrets. The
   * framework calls this function at startup, before it creates anything, so that all configuration errors are reported
   * together. The function must not open connections.
   */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: AdapterContext): StorageAdapter;
}
