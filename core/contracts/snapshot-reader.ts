/** How route handlers read the dataset. */
import type { Collection, Manifest } from './dataset.js';
import type { Scalar } from './storage.js';

/** Fields that a query can name: required strings and numbers. */
type ScalarField<T> = { [K in keyof T & string]-?: T[K] extends Scalar ? K : never }[keyof T & string];

/** `Query` for one collection, with its fields and their types. */
export interface QueryOf<T> {
  /** The key of the collection (the default), or one of its `orders`. */
  readonly order?: readonly ScalarField<T>[];
  readonly equal?: { readonly [K in ScalarField<T>]?: T[K] };
  readonly range?: {
    readonly [K in ScalarField<T>]: {
      readonly field: K;
      readonly from?: T[K] | undefined;
      readonly to?: T[K] | undefined;
    };
  }[ScalarField<T>];
  readonly descending?: boolean;
  /**
   * A position in the order: values of the fields of `order` that `equal` does not name, in the same order. The result
   * starts after it.
   */
  readonly after?: readonly Scalar[];
  readonly limit?: number;
}

/** A snapshot whose queries are checked and whose documents are typed by their collection. */
export interface SnapshotReader {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  get<T extends object>(collection: Collection<T>, key: readonly Scalar[]): Promise<Readonly<T> | undefined>;
  /** All matching documents. */
  find<T extends object>(collection: Collection<T>, query?: QueryOf<NoInfer<T>>): Promise<Readonly<T>[]>;
  /** All matching documents in batches, for results too large for memory. */
  stream<T extends object>(
    collection: Collection<T>,
    query?: QueryOf<NoInfer<T>>,
  ): AsyncIterable<readonly Readonly<T>[]>;
}

/** A version of the dataset in the store. */
export interface PublishedVersion {
  readonly version: string;
  readonly publishedAt: Date;
  readonly current: boolean;
  /** Reads the version. Long reads take turns. Resolves with undefined if the version has been deleted. */
  read<Result>(work: (snapshot: SnapshotReader) => Promise<Result>): Promise<Result | undefined>;
}
