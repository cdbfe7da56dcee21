/** Datasets: collections of documents, with a manifest that describes the dataset. */
import type { JsonSchema } from './json-schema.js';

/** One row: a plain JSON object. */
export type Document = Readonly<Record<string, unknown>>;

/** A named set of documents with one schema, declared by the plugins that read it. */
// biome-ignore lint/suspicious/noExplicitAny: a list of collections holds collections of every document type
export interface Collection<T extends object = any> {
  readonly name: string;
  /** The JSON Schema 2020-12 of a document. Key and order fields must be required strings, integers or numbers. */
  readonly schema: JsonSchema;
  /** The fields that identify a document. They also define the default order. */
  readonly key: readonly (keyof T & string)[];
  /** Additional orders that queries can use. The fields of an order and the key together must leave no ties. */
  readonly orders?: readonly (readonly (keyof T & string)[])[];
  /** The text fields that a search of documents looks into. Stores may keep an index of their words. */
  readonly search?: readonly (keyof T & string)[];
  /** Foreign keys: fields whose values must equal the key of a document in another collection. */
  readonly references?: readonly { readonly fields: readonly (keyof T & string)[]; readonly to: string }[];
  /**
   * Checks a document for errors that a schema cannot express. `created` is the creation time of the dataset. Returns
   * the field and the violated rule, or undefined if the document is valid.
   */
  check?(document: T, dataset: Pick<Manifest, 'created'>): { field: string; rule: string } | undefined;
}

export const CADENCES = [
  ...(['daily', 'weekly', 'biweekly', 'monthly', 'quarterly', 'semiannual', 'annual', 'five-year'] as const),
  // Values that can fall on any day, such as the dates of decisions.
  'irregular',
] as const;
export type Cadence = (typeof CADENCES)[number];

/** The origin of a part of the dataset, and when its next data is due. */
export interface Source {
  readonly id: string;
  readonly title: string;
  readonly cadence: Cadence;
  /** The first day of the newest period that has a value. */
  readonly latest_period: string | null;
  readonly last_loaded_at: string | null;
  /** The ages at which the source counts as late and as stale, measured from the end of `latest_period`. */
  readonly late_after_seconds: number;
  readonly stale_after_seconds: number;
  /** The attribution that the publisher asks users to display. */
  readonly attribution?: string | null;
}

/** Describes one version of a dataset. */
export interface Manifest {
  readonly format: 1;
  /** Identifies the content: two datasets with the same version have the same rows. */
  readonly version: string;
  /** RFC 3339, in UTC. */
  readonly created: string;
  /** A day on which the data was available, in the form `YYYY-MM-DD`. */
  readonly vintage: string;
  /** Whether the values are synthetic rather than real data. */
  readonly synthetic: boolean;
  readonly sources: readonly Source[];
}
