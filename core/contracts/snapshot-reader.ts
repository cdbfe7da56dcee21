/** The interface through which route handlers read the dataset. */
import type { Collection, Manifest } from './dataset.js';
import type { DeclareSchemaAsConst } from './json-schema.js';
import type { Condition, Group, Scalar, TotalsQuery } from './storage.js';

/** The fields that a query can sort by: required strings and numbers. */
export type ScalarField<T> = {
  [K in keyof T & string]-?: T[K] extends Scalar | DeclareSchemaAsConst ? K : never;
}[keyof T & string];

/** Names of the fields whose values are of type `Value` or null. Any name if `T` does not declare its fields. */
type FieldOf<T, Value> = string extends keyof T
  ? string
  : { [K in keyof T & string]-?: NonNullable<T[K]> extends Value | DeclareSchemaAsConst ? K : never }[keyof T & string];

/** The fields that conditions and groups can use: strings, numbers and booleans, including nullable ones. */
export type ConditionField<T> = FieldOf<T, Scalar | boolean>;

/** The fields whose totals a query can compute: numbers, including nullable ones. */
export type NumberField<T> = FieldOf<T, number>;

interface TotalsQueryOf<T> extends TotalsQuery {
  readonly where: readonly Condition<ConditionField<T>>[];
  readonly by: readonly ConditionField<T>[];
  readonly of?: NumberField<T>;
}

export interface QueryOf<T> {
  /** The sort order: one of the collection's `orders`. Default: the key of the collection. */
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
   * Returns only documents after this position in the sort order. A position contains one value for each field of
   * `order`, in the same order. Fields in `equal` are left out.
   */
  readonly after?: readonly Scalar[];
  readonly limit?: number;
  /** Words that must all occur in the `search` fields. Only allowed if `searches` returns true for this collection. */
  readonly words?: readonly string[];
}

/** A snapshot that validates queries and returns typed documents. */
export interface SnapshotReader {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  get<T extends object>(collection: Collection<T>, key: readonly Scalar[]): Promise<Readonly<T> | undefined>;
  find<T extends object>(collection: Collection<T>, query?: QueryOf<NoInfer<T>>): Promise<Readonly<T>[]>;
  /** Yields all matching documents in batches, for results that are too large for memory. */
  stream<T extends object>(
    collection: Collection<T>,
    query?: QueryOf<NoInfer<T>>,
  ): AsyncIterable<readonly Readonly<T>[]>;
  /**
   * Resolves with totals that the store has computed, or with undefined if the store cannot compute them.
   * `selectTotals` then reads the documents instead.
   */
  totals<T extends object>(
    collection: Collection<T>,
    query: TotalsQueryOf<NoInfer<T>>,
  ): Promise<readonly Group[] | undefined>;
  /** True if the store can search for words in this collection. */
  searches(collection: Collection): boolean;
}

/** A version of the dataset in the store. */
export interface PublishedVersion {
  readonly version: string;
  readonly publishedAt: Date;
  readonly current: boolean;
  /**
   * Calls `work` with a reader for this version. Long reads run one after another. Resolves with undefined if the
   * version was deleted, or if this replica cannot read it yet.
   */
  read<Result>(work: (snapshot: SnapshotReader) => Promise<Result>): Promise<Result | undefined>;
}
