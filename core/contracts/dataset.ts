import type { JsonSchema } from './json-schema.js';

/** The pattern for names of collections and fields. */
export const NAME = /^[a-z][a-z0-9_]*$/;

export type Document = Readonly<Record<string, unknown>>;

/** A named set of documents with one schema. Every plugin that reads a collection must declare it. */
// biome-ignore lint/suspicious/noExplicitAny: a list of collections holds collections of every document type
export interface Collection<T extends object = any> {
  readonly name: string;
  /**
   * JSON Schema 2020-12 for a document. The fields in `key` and `orders` must be required strings, integers or numbers.
   */
  readonly schema: JsonSchema;
  /** The fields that identify a document. Documents are sorted by the key unless a query uses one of `orders`. */
  readonly key: readonly (keyof T & string)[];
  /** Additional sort orders for queries. Each order must contain all key fields, so that no two documents are equal. */
  readonly orders?: readonly (readonly (keyof T & string)[])[];
  /** Text fields in which callers can search for words. Stores can index the words. */
  readonly search?: readonly (keyof T & string)[];
  /** Foreign keys. The values of `fields` must equal the key of a document in the collection `to`. */
  readonly references?: readonly { readonly fields: readonly (keyof T & string)[]; readonly to: string }[];
  /**
   * Finds errors in a document that a schema cannot detect. Returns the invalid field and the rule that it breaks, or
   * undefined if the document is valid. `created` is the creation time of the dataset.
   */
  check?(document: T, dataset: Pick<Manifest, 'created'>): { field: string; rule: string } | undefined;
}

export const CADENCES = [
  ...(['daily', 'weekly', 'biweekly', 'monthly', 'quarterly', 'semiannual', 'annual', 'five-year'] as const),
  // For data without a fixed interval, such as a list of events.
  'irregular',
] as const;
export type Cadence = (typeof CADENCES)[number];

export interface Source {
  readonly id: string;
  readonly title: string;
  readonly cadence: Cadence;
  /** The first day of the most recent period with a value, as `YYYY-MM-DD`. Null if the source has no values. */
  readonly latest_period: string | null;
  readonly last_loaded_at: string | null;
  /**
   * If no newer data arrives, the source is reported as late or stale this many seconds after the end of
   * `latest_period`.
   */
  readonly late_after_seconds: number;
  readonly stale_after_seconds: number;
  /** The attribution that the publisher of the data requires. */
  readonly attribution?: string | null;
}

export interface Manifest {
  readonly format: 1;
  /** The name of the version. Datasets with the same version must have the same rows. */
  readonly version: string;
  /** The creation time of the dataset, as RFC 3339 in UTC. */
  readonly created: string;
  /** The dataset contains only data that was available on this day, as `YYYY-MM-DD`. */
  readonly vintage: string;
  /** True if the dataset contains synthetic values instead of real data. */
  readonly synthetic: boolean;
  readonly sources: readonly Source[];
}
