/** The interface through which route handlers read the dataset. */
import type { Collection, Manifest } from './dataset.js';
import type { DeclareSchemaAsConst } from './json-schema.js';
import type { Group, Scalar, TotalsQuery } from './storage.js';

/** The fields that a query can name: the required strings and numbers. */
export type ScalarField<T> = {
  [K in keyof T & string]-?: T[K] extends Scalar | DeclareSchemaAsConst ? K : never;
}[keyof T & string];

/** A `Query` for one collection, typed by the fields of its documents. */
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
   * A position in the order: the values of those fields of `order` that `equal` does not name, in the same order. The
   * result starts after this position.
   */
  readonly after?: readonly Scalar[];
  readonly limit?: number;
  /** Words that the `search` fields must contain. Only if `searches` of the snapshot returns true. */
  readonly words?: readonly string[];
}

/** A snapshot that checks its queries and types its documents by their collection. */
export interface SnapshotReader {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  get<T extends object>(collection: Collection<T>, key: readonly Scalar[]): Promise<Readonly<T> | undefined>;
  /** Resolves with all matching documents. */
  find<T extends object>(collection: Collection<T>, query?: QueryOf<NoInfer<T>>): Promise<Readonly<T>[]>;
  /** Yields all matching documents in batches, for results that do not fit in memory. */
  stream<T extends object>(
    collection: Collection<T>,
    query?: QueryOf<NoInfer<T>>,
  ): AsyncIterable<readonly Readonly<T>[]>;
  /**
   * Resolves with totals from the store. Undefined if the store cannot compute them; in that case, `selectTotals` does.
   */
  totals<T extends object>(collection: Collection<T>, query: TotalsQuery): Promise<readonly Group[] | undefined>;
  /** Whether the store finds words in this collection. */
  searches(collection: Collection): boolean;
}

/** A version of the dataset that is in the store. */
export interface PublishedVersion {
  readonly version: string;
  readonly publishedAt: Date;
  readonly current: boolean;
  /** Reads this version. Long reads wait for each other. Resolves with undefined if the version has been deleted. */
  read<Result>(work: (snapshot: SnapshotReader) => Promise<Result>): Promise<Result | undefined>;
}
