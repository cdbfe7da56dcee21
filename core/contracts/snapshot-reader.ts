/** What route handlers use to read the dataset. */
import type { Collection, Manifest } from './dataset.js';
import type { DeclareSchemaAsConst } from './json-schema.js';
import type { Condition, Group, Scalar, TotalsQuery } from './storage.js';

/** Fields that queries can name: required strings and numbers. */
export type ScalarField<T> = {
  [K in keyof T & string]-?: T[K] extends Scalar | DeclareSchemaAsConst ? K : never;
}[keyof T & string];

/** Fields whose values are of type `Value` or null. Any field if the field names are unknown. */
type FieldOf<T, Value> = string extends keyof T
  ? string
  : { [K in keyof T & string]-?: NonNullable<T[K]> extends Value | DeclareSchemaAsConst ? K : never }[keyof T & string];

/** Fields that conditions and groups can name: strings, numbers and booleans, including nullable ones. */
export type ConditionField<T> = FieldOf<T, Scalar | boolean>;

/** Fields that totals can be computed for: numbers, including nullable ones. */
export type NumberField<T> = FieldOf<T, number>;

/** A `TotalsQuery` with field names typed for one collection. */
export interface TotalsQueryOf<T> extends TotalsQuery {
  readonly where: readonly Condition<ConditionField<T>>[];
  readonly by: readonly ConditionField<T>[];
  readonly of?: NumberField<T>;
}

/** A `Query` with field names and values typed for one collection. */
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
   * A position to continue from: one value for each field of `order` that `equal` does not name, in the same order.
   * Only documents after this position are returned.
   */
  readonly after?: readonly Scalar[];
  readonly limit?: number;
  /** Words that must all occur in the `search` fields. Allowed only if `searches` returns true for this collection. */
  readonly words?: readonly string[];
}

/** A snapshot that validates queries and returns typed documents. */
export interface SnapshotReader {
  readonly version: string;
  readonly publishedAt: Date;
  readonly manifest: Manifest;
  get<T extends object>(collection: Collection<T>, key: readonly Scalar[]): Promise<Readonly<T> | undefined>;
  find<T extends object>(collection: Collection<T>, query?: QueryOf<NoInfer<T>>): Promise<Readonly<T>[]>;
  /** Yields all matching documents in batches, for results that are too large to hold in memory. */
  stream<T extends object>(
    collection: Collection<T>,
    query?: QueryOf<NoInfer<T>>,
  ): AsyncIterable<readonly Readonly<T>[]>;
  /**
   * Resolves with totals computed by the store, or undefined if the store cannot compute them. In that case,
   * `selectTotals` reads the documents instead.
   */
  totals<T extends object>(
    collection: Collection<T>,
    query: TotalsQueryOf<NoInfer<T>>,
  ): Promise<readonly Group[] | undefined>;
  /** Whether the store supports word search in this collection. */
  searches(collection: Collection): boolean;
}

/** A version of the dataset in the store. */
export interface PublishedVersion {
  readonly version: string;
  readonly publishedAt: Date;
  readonly current: boolean;
  /**
   * Calls `work` with a reader for this version. Long reads run one after another. Resolves with undefined if the
   * version was deleted.
   */
  read<Result>(work: (snapshot: SnapshotReader) => Promise<Result>): Promise<Result | undefined>;
}
