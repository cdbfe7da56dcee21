import type { JsonSchema } from './json-schema.js';

/** Names of collections and fields match this pattern. */
export const NAME = /^[a-z][a-z0-9_]*$/;

export type Document = Readonly<Record<string, unknown>>;

/** A named set of documents with one schema. Every plugin that reads a collection declares it. */
// biome-ignore lint/suspicious/noExplicitAny: a list of collections holds collections of every document type
export interface Collection<T extends object = any> {
  readonly name: string;
  /**
   * JSON Schema 2020-12 for a document. The fields in `key` and `orders` must be required strings, integers or numbers.
   */
  readonly schema: JsonSchema;
  /** The fields that identify a document. They also define the default sort order. */
  readonly key: readonly (keyof T & string)[];
  /** Additional sort orders for queries. Each order must contain all key fields, so that it is unambiguous. */
  readonly orders?: readonly (readonly (keyof T & string)[])[];
  /** The text fields that callers can search for words. Stores can index these words. */
  readonly search?: readonly (keyof T & string)[];
  /** Foreign keys. The values of `fields` must equal the key of a document in the collection `to`. */
  readonly references?: readonly { readonly fields: readonly (keyof T & string)[]; readonly to: string }[];
  /**
   * Finds errors that a schema cannot detect. `created` is the creation time of the dataset. Returns the invalid field
   * and the rule that it breaks, or undefined if the document is valid.
   */
  check?(document: T, dataset: Pick<Manifest, 'created'>): { field: string; rule: string } | undefined;
}

export const CADENCES = [
  ...(['daily', 'weekly', 'biweekly', 'monthly', 'quarterly', 'semiannual', 'annual', 'five-year'] as const),
  // For events that can occur on any day, such as decisions.
  'irregular',
] as const;
export type Cadence = (typeof CADENCES)[number];

/** A source of the data. Its age determines whether the data is late or stale. */
export interface Source {
  readonly id: string;
  readonly title: string;
  readonly cadence: Cadence;
  /** The first day of the most recent period that has a value. */
  readonly latest_period: string | null;
  readonly last_loaded_at: string | null;
  /** The source is late (or stale) once this many seconds have passed since the end of `latest_period`. */
  readonly late_after_seconds: number;
  readonly stale_after_seconds: number;
  /** The attribution that the publisher requires. */
  readonly attribution?: string | null;
}

/** Describes one version of a dataset. */
export interface Manifest {
  readonly format: 1;
  /** Identifies the content: two datasets with the same version have the same rows. */
  readonly version: string;
  /** RFC 3339 in UTC. */
  readonly created: string;
  /** The day on which the data was available, as `YYYY-MM-DD`. */
  readonly vintage: string;
  /** True if the values are synthetic and not real data. */
  readonly synthetic: boolean;
  readonly sources: readonly Source[];
}
