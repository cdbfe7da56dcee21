/** The storage contract: everything that the framework requires of a store. It is independent of any dataset. */
import type { DataAudit, DataAuditEntry } from './audit.js';
import type { Collection, Document, Manifest } from './dataset.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Logger } from './runtime.js';

/**
 * The values of keys and ordered fields. Strings are compared by Unicode code point, without collation, case folding,
 * normalization or trimming. Numbers are compared as doubles, and -0 equals 0. The empty string and 0 are ordinary
 * values.
 */
export type Scalar = string | number;

/** A query for many documents. The framework has already checked it, so adapters can trust every field. */
export interface Query {
  /** The key of the collection, or one of its declared `orders`. */
  readonly order: readonly string[];
  /** Values for one or more leading fields of `order`, in the same order. */
  readonly equal?: Readonly<Record<string, Scalar>>;
  /**
   * Inclusive bounds on one more field of `order`, not necessarily the next one. Nothing matches if `from` exceeds
   * `to`.
   */
  readonly range?: { readonly field: string; readonly from?: Scalar; readonly to?: Scalar };
  /** Returns the documents in the exact reverse of `order`, including ties. */
  readonly descending?: boolean;
  /**
   * A position: the values of those fields of `order` that `equal` does not name, in the same order. The result
   * contains only documents after this position, as sorted by `order` and `descending`. There need not be a document at
   * it.
   */
  readonly after?: readonly Scalar[];
  /** The maximum number of documents in all batches together. 0 returns none. */
  readonly limit?: number;
  /**
   * Only with the capability `search`: words that the `search` fields of the document must contain together. A word
   * that ends in `*` matches the start of a word. `wordsOf` splits texts into words.
   */
  readonly words?: readonly string[];
}

/**
 * - `eq`: equals the value
 * - `not`: differs from the value; null differs from every value
 * - `in`: equals one of several values
 * - `gt`, `gte`, `lt`, `lte`: compares as scalars do; null never matches
 * - `null`: with `true`, matches null and missing values; with `false`, all other values
 */
export type Operator = 'eq' | 'not' | 'in' | 'gt' | 'gte' | 'lt' | 'lte' | 'null';

/** A condition on a field whose values are strings, numbers or booleans of one type, or null. */
export interface Condition {
  readonly field: string;
  readonly operator: Operator;
  /** Has the type of the field, except a list for `in` and a boolean for `null`. */
  readonly value: Scalar | boolean | readonly Scalar[];
}

/** Asks for totals of all documents that match, grouped by the values of up to two fields. */
export interface TotalsQuery {
  readonly where: readonly Condition[];
  /** See `words` of `Query`. */
  readonly words?: readonly string[];
  /** The fields to group by: their values are strings, numbers or booleans of one type, or null. Empty for one group. */
  readonly by: readonly string[];
  /** The field with numbers whose totals are wanted. Null and missing values are left out of them. */
  readonly of?: string;
  /** The maximum number of groups. If there are more, any of them are returned. */
  readonly limit: number;
}

/** The documents with equal values in the fields of `by`. */
export interface Group {
  /** The values of `by`. Documents with null and without the field are in the same group, whose value is null. */
  readonly values: readonly (Scalar | boolean | null)[];
  /** The number of documents. */
  readonly count: number;
  /** Totals of the numbers in the field `of`. Undefined if the query has no `of` or the group has no numbers. */
  readonly numbers?: NumberTotals;
}

export interface NumberTotals {
  readonly count: number;
  /** Accurate to 15 significant digits, unless large numbers cancel out. This needs compensated summation. */
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** Consecutive documents as stored: JSON objects in UTF-8 without line breaks, with one comma between two documents. */
export interface JsonRows {
  readonly json: Buffer;
  /** The position in `json` at which each document ends. The next document starts after the comma that follows. */
  readonly ends: readonly number[];
}

/**
 * A published version of the dataset. It stays readable and unchanged from `snapshot()` to `release()`.
 *
 * Documents are returned exactly as they were published: they have the same fields, null values are not dropped, and
 * strings and numbers are identical (except that -0 may become 0). Each document is a copy or deeply frozen, so that
 * callers cannot affect each other.
 */
export interface Snapshot {
  readonly version: string;
  /**
   * The time at which the version became current, to the millisecond: its publication, or its last activation. A
   * snapshot from `asOf` has the last such time before the requested one.
   */
  readonly publishedAt: Date;
  /** The manifest as it was published. In particular, the text of `created` is unchanged. */
  readonly manifest: Manifest;
  /**
   * Resolves with the document whose key fields have these values, which are in key order. Undefined if there is none.
   * @param signal aborts the read with `aborted`
   */
  get(collection: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined>;
  /**
   * Yields the matching documents in order, in batches of any size. A batch must not change after it has been yielded.
   */
  find(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<readonly Document[]>;
  /**
   * With the capability `json`: like `find`, for lists that are sent as they are stored. The text of a document must
   * parse to the same value as the document that `find` yields.
   */
  findJson?(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<JsonRows>;
  /**
   * With the capability `totals`: resolves with the groups in any order. Without `by`, there is one group, even if no
   * document matches. Resolves with undefined if the adapter would have to read the documents one by one: the framework
   * then does so, up to a limit.
   * @param onWait call this if the query has to wait for other queries. It stops the time limit. Call the function that
   *   it returns when the query starts, which starts the time limit again.
   */
  totals?(
    collection: string,
    query: TotalsQuery,
    signal?: AbortSignal,
    onWait?: () => () => void,
  ): Promise<readonly Group[] | undefined>;
  /** With the capability `search`: true, so that queries may have `words`. */
  readonly searches?: boolean;
  /** Releases one lock on the version. Calling it again on the same snapshot does nothing. */
  release(): void;
}

/** A store. Its methods reject only with a `StorageError` (see `core/errors.ts`). */
export interface StorageAdapter {
  /** Resolves even if the backend is unreachable, provided that the adapter can reconnect without a service restart. */
  open(): Promise<void>;
  /** May be called at any time, and more than once. */
  close(): Promise<void>;
  /** Rejects with the code `unavailable` if the backend cannot be read. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Returns the current snapshot, locked until its `release()`. Throws `unavailable` if there is none. */
  snapshot(): Snapshot;
  /**
   * With the capability `publish`: makes the whole dataset the current snapshot, or changes nothing. Once the promise
   * has settled, the adapter no longer uses the documents, so the publisher may change them. If `open` rejected with
   * `invalid_dataset`, `publish` replaces the invalid dataset. While another publication is in progress, it waits or
   * rejects with `conflict`.
   */
  publish?(dataset: Dataset, options?: PublishOptions): Promise<void>;
  /**
   * Checks the structure of the stored files for the `doctor` command. Resolves with one sentence per error.
   * @param full also compares each index with its rows, which takes longer
   */
  checkIntegrity?(full: boolean): Promise<readonly string[]>;
  /** With the capability `versions`. */
  readonly versions?: Versions;
  /** With the capability `audit`. */
  readonly audit?: DataAudit;
  /** Lets backups keep the times of all versions and the audit. Optional. */
  readonly history?: History;
}

/** How an open adapter notices what other adapters publish or activate. */
export interface Following {
  /** The longest delay until `snapshot()` returns the change and `changed()` has been called, in milliseconds. */
  readonly withinMs: number;
  /** The default interval between two reads of an unchanged store, in milliseconds. 0 if the store sends changes. */
  readonly pollMs: number;
}

/** The largest values that a store accepts. `publish` rejects larger ones with `invalid_dataset`. */
export interface StoreLimits {
  /** The bytes of a key, or of the fields of an order: strings in UTF-8, and 8 for each number. Default: 2,000. */
  readonly keyBytes?: number;
  /** The bytes of a document as JSON in UTF-8. Default: 1,048,576. */
  readonly rowBytes?: number;
}

/** What an adapter supports. The conformance suite skips the tests for capabilities that an adapter lacks. */
export interface Capabilities {
  readonly publish: boolean;
  readonly versions: boolean;
  /** Whether another adapter that uses the same store, in any process, sees published datasets. Default: true. */
  readonly durable?: boolean;
  /**
   * Whether an open adapter notices what other adapters publish or activate, and what this costs. `true`, the default,
   * means within 5 seconds.
   */
  readonly follows?: boolean | Following;
  /** Whether only one open adapter at a time can use a store. A second `open` rejects. Default: false. */
  readonly exclusive?: boolean;
  readonly limits?: StoreLimits;
  /** Whether the adapter keeps an audit. Default: false. */
  readonly audit?: boolean;
  /** Whether snapshots have `findJson`, because the store contains the JSON text of each row. Default: false. */
  readonly json?: boolean;
  /** Whether snapshots have `totals`. Default: false. */
  readonly totals?: boolean;
  /** Whether snapshots search the fields that collections declare as `search`. Default: false. */
  readonly search?: boolean;
}

/** A dataset to publish: its manifest, and the documents of each collection, sorted by key. */
export interface Dataset {
  readonly manifest: Manifest;
  read(collection: string): AsyncIterable<readonly Document[]>;
}

export interface PublishOptions {
  readonly onProgress?: (progress: { collection: string; written: number; total: number | undefined }) => void;
  readonly signal?: AbortSignal;
  /** Called at most once, with a message, if the publication has to wait. */
  readonly onWait?: (sentence: string) => void;
  /** Called once, after the publication, with the reason if it replaced a dataset that could not be served. */
  readonly onRepair?: (reason: string) => void;
}

export interface Versions {
  /**
   * Resolves with all versions, most recently published first. `publishedAt` is the time of publication, which
   * `activate` does not change.
   */
  list(): Promise<readonly { version: string; publishedAt: Date; current: boolean; held: boolean }[]>;
  /** Makes a version current. Does nothing if it is current already. */
  activate(version: string): Promise<void>;
  /**
   * Deletes all versions except the newest `keep` (0 or more), the current one and locked ones. Resolves with the
   * deleted versions.
   */
  prune(keep: number): Promise<readonly string[]>;
  /**
   * Resolves with the snapshot that was current at `time`, locked until its `release()`. Resolves with undefined if
   * `time` is before the first publication or the version has been deleted.
   */
  asOf(time: Date): Promise<Snapshot | undefined>;
}

/** A version, and a time at which it became the current one. */
export interface Move {
  /** Null if the version has been deleted. */
  readonly version: string | null;
  readonly publishedAt: Date;
}

/** What a backup saves in addition to the versions themselves. */
export interface StoredHistory {
  /** Every change of the current version, oldest first. */
  readonly moves: readonly Move[];
  /** All entries of the audit, oldest first, including entries for changes that were not made. */
  readonly audit: readonly DataAuditEntry[];
}

export interface History {
  read(): Promise<StoredHistory>;
  /** Deletes all versions and the audit. */
  clear(): Promise<void>;
  /**
   * Replaces the times of all versions, the current version and the audit. A restore calls this after it has published
   * the versions, oldest first. An adapter that stores one version ignores the times.
   * @param history.versions all versions in the store, oldest first, with their times of publication
   */
  write(history: StoredHistory & { readonly versions: readonly (Move & { version: string })[] }): Promise<void>;
}

/** The second argument of an adapter module's `create`. */
export interface AdapterContext {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Resolves a relative path from the options against the folder of the configuration file. */
  resolvePath(path: string): string;
  /** The adapter must call this whenever `snapshot()` has started to return another version, and only then. */
  changed(): void;
  /**
   * The adapter calls this with a message for `/status` when a problem occurs, and without one when it is resolved.
   */
  problem(sentence?: string): void;
  /** The adapter may call this with the duration of each read from its backend, in milliseconds, for the metrics. */
  timed?(ms: number): void;
}

/** The default export of an adapter package. */
export interface AdapterModule<Options = unknown> {
  readonly kind: 'adapter';
  readonly name: string;
  readonly version: string;
  readonly capabilities: Capabilities;
  /** The JSON Schema of the adapter's options. */
  readonly options: JsonSchema;
  /**
   * Checks options for errors that their schema cannot express. Returns messages by option name. A message completes a
   * sentence that starts with the name, such as `must be a directory`, and must not reveal secrets. Called at startup,
   * before anything is created, so that all configuration errors are reported together. It must not open connections.
   */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: AdapterContext): StorageAdapter;
}
