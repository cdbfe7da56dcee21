import type { JsonSchema } from './json-schema.js';

export type Document = Readonly<Record<string, unknown>>;

/** A named set of documents with one schema, declared by the plugins that read it. */
// biome-ignore lint/suspicious/noExplicitAny: a list of collections holds collections of every document type
export interface Collection<T extends object = any> {
  readonly name: string;
  /** JSON Schema 2020-12 for one document. Key and order fields must be required strings, integers or numbers. */
  readonly schema: JsonSchema;
  /** The fields that identify a document. They also define the default sort order. */
  readonly key: readonly (keyof T & string)[];
  /** Additional sort orders for queries. Each must contain all key fields, so that no two documents tie. */
  readonly orders?: readonly (readonly (keyof T & string)[])[];
  /** The text fields that word searches cover. Stores can keep a word index for them. */
  readonly search?: readonly (keyof T & string)[];
  /** Foreign keys: fields whose values must equal the key of a document in another collection. */
  readonly references?: readonly { readonly fields: readonly (keyof T & string)[]; readonly to: string }[];
  /**
   * Checks a document for errors that a schema cannot express. `created` is the creation time of the dataset. Returns
   * the invalid field and the rule that it breaks, or undefined if the document is valid.
   */
  check?(document: T, dataset: Pick<Manifest, 'created'>): { field: string; rule: string } | undefined;
}

export const CADENCES = [
  ...(['daily', 'weekly', 'biweekly', 'monthly', 'quarterly', 'semiannual', 'annual', 'five-year'] as const),
  // For values that can fall on any day, such as decision dates.
  'irregular',
] as const;
export type Cadence = (typeof CADENCES)[number];

/** A source of the data, and the ages at which it counts as late and as stale. */
export interface Source {
  readonly id: string;
  readonly title: string;
  readonly cadence: Cadence;
  /** The first day of the most recent period that has a value. */
  readonly latest_period: string | null;
  readonly last_loaded_at: string | null;
  /** The age at which the source counts as late or stale, measured from the end of `latest_period`. */
  readonly late_after_seconds: number;
  readonly stale_after_seconds: number;
  /** The attribution that the publisher requires. */
  readonly attribution?: string | null;
}

/** Describes one version of a dataset. */
export interface Manifest {
  readonly format: 1;
  /** Identifies the content: datasets with the same version have the same rows. */
  readonly version: string;
  /** RFC 3339 timestamp in UTC. */
  readonly created: string;
  /** A day on which the data was available, as `YYYY-MM-DD`. */
  readonly vintage: string;
  /** Whether the values are synthetic rather than real data. */
  readonly synthetic: boolean;
  readonly sources: readonly Source[];
}
