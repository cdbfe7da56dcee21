/** The storage contract: all that the framework requires of a store. It is independent of any dataset. */
import type { DataAudit } from './audit.js';
import type { Collection, Document, Manifest } from './dataset.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Logger } from './runtime.js';

/**
 * Values of keys and ordered fields. Strings are compared by Unicode code point: no collation, case folding, normal
 * form or trimming. Numbers are compared by value, as doubles; -0 equals 0. The empty string and 0 are ordinary values.
 */
export type Scalar = string | number;

/** A query for many documents. Core has checked it, so adapters may trust every field. */
export interface Query {
  /** The key of the collection, or one of its declared `orders`. */
  readonly order: readonly string[];
  /** Values of leading fields of `order`, in the same order. */
  readonly equal?: Readonly<Record<string, Scalar>>;
  /** Inclusive bounds on one further field of `order`, not always the next one. A `from` above `to` matches nothing. */
  readonly range?: { readonly field: string; readonly from?: Scalar; readonly to?: Scalar };
  /** The exact reverse of `order`, ties included. */
  readonly descending?: boolean;
  /**
   * A position: values of the fields of `order` that `equal` does not name, in the same order. The result has only
   * documents behind it, by `order` and `descending`. No document needs to have these values.
   */
  readonly after?: readonly Scalar[];
  /** The maximum number of documents, over all batches. 0 returns none. */
  readonly limit?: number;
}

/** Consecutive documents as stored: JSON objects in UTF-8, each on one line, separated by commas. */
export interface JsonRows {
  readonly json: Buffer;
  /** Where each document ends in `json`. The next one starts after the comma that follows. */
  readonly ends: readonly number[];
}

/**
 * A published version of the dataset, readable and unchanged from `snapshot()` to `release()`.
 *
 * A document is returned as it was published: the same fields, null not absent, every string and number to the last bit
 * (-0 may become 0). It is a copy or deeply frozen, so that callers cannot affect each other.
 */
export interface Snapshot {
  readonly version: string;
  /** When the version became current, in milliseconds. */
  readonly publishedAt: Date;
  /** The manifest as it was published, with the same text in `created`. */
  readonly manifest: Manifest;
  /**
   * Resolves with the document whose key fields have these values, in the order of the key, or with undefined.
   * @param signal aborts the read with `aborted`
   */
  get(collection: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined>;
  /** Yields the matching documents, in order, in batches of any size. A batch does not change after it was yielded. */
  find(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<readonly Document[]>;
  /**
   * With the capability `json`: like `find`, for lists that are sent as stored. The text of a document has the same
   * value as the document that `find` yields.
   */
  findJson?(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<JsonRows>;
  /** Releases one lock on the version. A second call does nothing. */
  release(): void;
}

/** A store. Methods reject with a `StorageError` (see `core/errors.ts`) and nothing else. */
export interface StorageAdapter {
  /** Resolves even if the backend is unreachable, if the adapter can reconnect without a restart of the service. */
  open(): Promise<void>;
  /** May be called at any time, and twice. */
  close(): Promise<void>;
  /** Rejects with code `unavailable` while the backend cannot be read. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Returns the current snapshot, locked until its `release()`. Throws `unavailable` while there is none. */
  snapshot(): Snapshot;
  /**
   * With the capability `publish`: makes the whole dataset the current snapshot, or changes nothing. After the promise
   * has settled, the adapter no longer uses the documents, and the publisher may change them. After `open` has rejected
   * with `invalid_dataset`, `publish` replaces the invalid dataset.
   */
  publish?(dataset: Dataset, options?: PublishOptions): Promise<void>;
  /**
   * Checks the structure of the stored files, for `doctor`. Resolves with one sentence per error.
   * @param full also compares each index with its rows, which takes longer
   */
  checkIntegrity?(full: boolean): Promise<readonly string[]>;
  /** With the capability `versions`. */
  readonly versions?: Versions;
  /** With the capability `audit`. */
  readonly audit?: DataAudit;
}

/** What an adapter supports. The conformance suite skips tests of missing capabilities. */
export interface Capabilities {
  readonly publish: boolean;
  readonly versions: boolean;
  /** Whether another adapter over the same store, in any process, finds what was published. Default: true. */
  readonly durable?: boolean;
  /** Whether an open adapter notices publications and activations of other adapters within 5 seconds. Default: true. */
  readonly follows?: boolean;
  /** Whether the adapter keeps an audit. Default: false. */
  readonly audit?: boolean;
  /** Whether snapshots have `findJson`, because the store has the JSON text of each row. Default: false. */
  readonly json?: boolean;
}

/** A dataset to publish: its manifest, and the documents of each collection in key order. */
export interface Dataset {
  readonly manifest: Manifest;
  read(collection: string): AsyncIterable<readonly Document[]>;
}

export interface PublishOptions {
  readonly onProgress?: (progress: { collection: string; written: number; total: number | undefined }) => void;
  readonly signal?: AbortSignal;
  /** Called once with a message if the publication has to wait. */
  readonly onWait?: (sentence: string) => void;
  /** Called once, after the publication, if it replaced a dataset that could not be served. Receives the reason. */
  readonly onRepair?: (reason: string) => void;
}

export interface Versions {
  /** All versions, last publication first. `publishedAt` is the time of publication. */
  list(): Promise<readonly { version: string; publishedAt: Date; current: boolean; held: boolean }[]>;
  activate(version: string): Promise<void>;
  /**
   * Deletes all versions except the `keep` newest (0 or more), the current one and locked ones. Resolves with the
   * deleted versions.
   */
  prune(keep: number): Promise<readonly string[]>;
  /**
   * Resolves with the snapshot that was current at `time`, locked until its `release()`. Undefined before the first
   * publication and if that version was deleted.
   */
  asOf(time: Date): Promise<Snapshot | undefined>;
}

/** The second argument of `create`. */
export interface AdapterContext {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Makes a path in the options absolute, relative to the folder of the configuration file. */
  resolvePath(path: string): string;
  /** The adapter calls it after `snapshot()` returns another version, and only then. */
  changed(): void;
  /**
   * The adapter calls it with a message for `/status` when it has a problem, and without one when the problem is over.
   */
  problem(sentence?: string): void;
}

/** The default export of an adapter's package. */
export interface AdapterModule<Options = unknown> {
  readonly kind: 'adapter';
  readonly name: string;
  readonly version: string;
  readonly capabilities: Capabilities;
  /** JSON Schema of the adapter's options. */
  readonly options: JsonSchema;
  /**
   * Checks options for errors that their schema cannot express. Returns messages by option name. A message follows the
   * name, as in `must be a directory`, and shows no secrets. Called at the start, before anything is created, so that
   * all configuration errors are reported together. It must not connect to anything.
   */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: AdapterContext): StorageAdapter;
}
