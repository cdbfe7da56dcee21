/** The storage contract: everything the framework asks of a store. It names no dataset. */
import type { DataAudit } from './audit.js';
import type { Collection, Document, Manifest } from './dataset.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Logger } from './runtime.js';

/**
 * Values that keys and ordered fields may have. Strings are compared by Unicode code point alone, with no collation,
 * case, normal form or trimming; numbers by value, as doubles, -0 being 0. The empty string and 0 are values as any
 * other.
 */
export type Scalar = string | number;

/** One read of many documents. Core has checked it: an adapter may trust every field. */
export interface Query {
  /** The order of the documents: by the collection's key, or by one of its declared `orders`. */
  readonly order: readonly string[];
  /** Equality on the leading fields of `order`, in its sequence. */
  readonly equal?: Readonly<Record<string, Scalar>>;
  /** Inclusive bounds on one further field of `order`, not always the next one. A `from` above `to` matches nothing. */
  readonly range?: { readonly field: string; readonly from?: Scalar; readonly to?: Scalar };
  /** The exact reverse of `order`, ties included. */
  readonly descending?: boolean;
  /**
   * Skips all documents up to this place, by `order` and `descending`: values of the fields of `order` that `equal`
   * does not name, in the sequence of `order`. No document need have these values.
   */
  readonly after?: readonly Scalar[];
  /** At most this many documents, the first ones behind `after`, counted over all batches; 0 is none. */
  readonly limit?: number;
}

/**
 * A published version of the dataset: readable and unchanged from `snapshot()` to `release()`.
 *
 * A document comes back as it was published: no field more or less, null not absent, each string and number to the last
 * bit (a -0 may come back as 0). It is a copy, or frozen in depth, so that no caller can change another one's
 * documents.
 */
export interface Snapshot {
  readonly version: string;
  /** When it became the current one, to the millisecond. */
  readonly publishedAt: Date;
  /** As it was published; `created` with the same text. */
  readonly manifest: Manifest;
  /** The document whose key fields have these values, in the key's sequence. */
  get(collection: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined>;
  /** The matching documents, in order, in batches of any size. A batch does not change after it was yielded. */
  find(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<readonly Document[]>;
  /** Ends this lock on the version, and no other lock on it. A second call does nothing. */
  release(): void;
}

/** A store. Methods reject with a `StorageError` (see `core/errors.ts`) and with nothing else. */
export interface StorageAdapter {
  /** Resolves even if the backend is unreachable, provided that it can come back without a restart of the service. */
  open(): Promise<void>;
  /** Safe to call at any time, and twice. */
  close(): Promise<void>;
  /** Rejects with code `unavailable` while the backend cannot be read. */
  ping(signal?: AbortSignal): Promise<void>;
  /** The current snapshot, locked until its `release()`. Throws `unavailable` while there is none. */
  snapshot(): Snapshot;
  /**
   * With the capability `publish`: the whole dataset becomes the current snapshot, or nothing changes. Once the promise
   * has settled, the adapter no longer uses the documents, and the publisher may change them. Also after `open` has
   * rejected with `invalid_dataset`: what cannot be served is replaced.
   */
  publish?(dataset: Dataset, options?: PublishOptions): Promise<void>;
  /** With the capability `versions`: lists what has been published, and goes back to it. */
  readonly versions?: Versions;
  /** With the capability `audit`: who published, activated and deleted what. */
  readonly audit?: DataAudit;
}

/** What an adapter can do, as data: users read it and the conformance suite obeys it. */
export interface Capabilities {
  readonly publish: boolean;
  readonly versions: boolean;
  /**
   * Whether another adapter over the same store, in this process or another, finds what was published. Default: true.
   */
  readonly durable?: boolean;
  /** Whether an open adapter notices within seconds what another one publishes or activates. Default: true. */
  readonly follows?: boolean;
  /** Whether it keeps an audit. Default: false. */
  readonly audit?: boolean;
}

/** A whole dataset on its way into a store: its manifest, and each collection in key order. */
export interface Dataset {
  readonly manifest: Manifest;
  read(collection: string): AsyncIterable<readonly Document[]>;
}

export interface PublishOptions {
  readonly onProgress?: (progress: { collection: string; written: number; total: number | undefined }) => void;
  readonly signal?: AbortSignal;
  /** Called once, with a sentence, if the publication has to wait for something. */
  readonly onWait?: (sentence: string) => void;
  /** Called once, after the publication, with why what was there before could not be served, if that is so. */
  readonly onRepair?: (reason: string) => void;
}

export interface Versions {
  /** By publication, newest first; `publishedAt` is when a version was published. */
  list(): Promise<readonly { version: string; publishedAt: Date; current: boolean; held: boolean }[]>;
  activate(version: string): Promise<void>;
  /**
   * Deletes all versions but the newest `keep` (from 0), the current one and locked ones. Resolves with those deleted.
   */
  prune(keep: number): Promise<readonly string[]>;
  /** The snapshot that was current at `time`, locked until its `release()`; undefined before the first publication. */
  asOf(time: Date): Promise<Snapshot | undefined>;
}

/** What an adapter is given in addition to its options. */
export interface AdapterContext {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Makes a path of the options absolute; relative ones start at the config file's folder. */
  resolvePath(path: string): string;
  /** The adapter calls it after `snapshot()` has begun to return another version, and only then. */
  changed(): void;
  /**
   * The adapter calls it with a sentence fit for `/status` when something is wrong, and without one when that is over.
   */
  problem(sentence?: string): void;
}

/** What an adapter's package exports as `default`. */
export interface AdapterModule<Options = unknown> {
  readonly kind: 'adapter';
  readonly name: string;
  readonly version: string;
  readonly capabilities: Capabilities;
  /** JSON Schema of the adapter's options in the config. */
  readonly options: JsonSchema;
  /**
   * What is wrong with options that fit the schema, by the option's name: a sentence that follows the name and shows no
   * secret. Called at the start, before anything is created, so that its faults are told with all others.
   */
  check?(options: Options): Readonly<Record<string, string>>;
  create(options: Options, context: AdapterContext): StorageAdapter;
}
