/** The storage contract: everything the framework asks of a store. It names no dataset. */
import type { Collection, Document, Manifest } from './dataset.js';
import type { JsonSchema } from './json-schema.js';
import type { Clock, Logger } from './runtime.js';

/** Values that keys and ordered fields may have: strings order by code point, numbers by value. */
export type Scalar = string | number;

/** One read of many documents. Core has checked it: an adapter may trust every field. */
export interface Query {
  /** The order of the answer: the collection's key, or one of its declared `orders`. */
  readonly order: readonly string[];
  /** Equality on the leading fields of `order`, in its sequence. */
  readonly equal?: Readonly<Record<string, Scalar>>;
  /** Inclusive bounds on one further field of `order`. */
  readonly range?: { readonly field: string; readonly from?: Scalar; readonly to?: Scalar };
  readonly descending?: boolean;
  readonly limit?: number;
}

/** A published version of the dataset: readable and unchanged from `snapshot()` to `release()`. */
export interface Snapshot {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  /** The document whose key fields have these values, in the key's sequence. */
  get(collection: string, key: readonly Scalar[], signal?: AbortSignal): Promise<Document | undefined>;
  /** The matching documents, in order, in batches of any size. */
  find(collection: string, query: Query, signal?: AbortSignal): AsyncIterable<readonly Document[]>;
  /** Called once, when the holder has finished reading. */
  release(): void;
}

/** A store. Methods reject with a `StorageError` (see `core/errors.ts`) and with nothing else. */
export interface StorageAdapter {
  /** Resolves also while the backend is away, if it is one that can come back by itself. */
  open(): Promise<void>;
  /** Safe to call at any time, and twice. */
  close(): Promise<void>;
  /** Rejects with code `unavailable` while the backend cannot be read. */
  ping(signal?: AbortSignal): Promise<void>;
  /** The current snapshot, held until its `release()`. Throws `unavailable` while there is none. */
  snapshot(): Snapshot;
  /** With the capability `publish`: all of a dataset becomes the current snapshot, or nothing does. */
  publish?(dataset: Dataset, options?: PublishOptions): Promise<void>;
  /** With the capability `versions`: what has been published, and going back to it. */
  readonly versions?: Versions;
}

/** What an adapter can do, as data: users read it and the conformance suite obeys it. */
export interface Capabilities {
  readonly publish: boolean;
  readonly versions: boolean;
}

/** A whole dataset on its way into a store: its manifest, and each collection in key order. */
export interface Dataset {
  readonly manifest: Manifest;
  read(collection: string): AsyncIterable<readonly Document[]>;
}

export interface PublishOptions {
  readonly onProgress?: (progress: { collection: string; written: number; total: number | undefined }) => void;
  readonly signal?: AbortSignal;
}

export interface Versions {
  /** Newest first. */
  list(): Promise<readonly { version: string; publishedAt: Date; current: boolean; held: boolean }[]>;
  activate(version: string): Promise<void>;
  /** Deletes all but the newest `keep` and those in use; answers with the deleted versions. */
  prune(keep: number): Promise<readonly string[]>;
  /** The snapshot that was current at `time`, held until its `release()`; undefined before the first. */
  asOf(time: Date): Promise<Snapshot | undefined>;
}

/** What an adapter is given beside its options. */
export interface AdapterContext {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Makes a path of the options absolute; relative ones start at the config file's folder. */
  resolvePath(path: string): string;
  /** To be called after `snapshot()` has begun to answer with another version. */
  changed(): void;
  /** To be called with a sentence fit for `/status` when something is wrong, and without one when it is over. */
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
  create(options: Options, context: AdapterContext): StorageAdapter;
}
