/** Datasets: collections of documents, and a manifest that describes the whole. */
import type { JsonSchema } from './json-schema.js';

/** One row: a plain JSON object. */
export type Document = Readonly<Record<string, unknown>>;

/** A named set of documents with one schema, declared by the plugins that read it. */
// biome-ignore lint/suspicious/noExplicitAny: a list of collections holds collections of every document type
export interface Collection<T extends object = any> {
  readonly name: string;
  /** JSON Schema 2020-12 of one document. Key and order fields must be required strings, integers or numbers. */
  readonly schema: JsonSchema;
  /** The fields that identify a document. Also the default order. */
  readonly key: readonly (keyof T & string)[];
  /** Further orders that queries use. Together with the key they must decide every tie. */
  readonly orders?: readonly (readonly (keyof T & string)[])[];
  /** Fields that must equal the key of a document of another collection. */
  readonly references?: readonly { readonly fields: readonly (keyof T & string)[]; readonly to: string }[];
  /**
   * Checks a document for errors that a schema cannot express. `created` is the time of the dataset. Returns the field
   * and the error, or undefined.
   */
  check?(document: T, dataset: Pick<Manifest, 'created'>): { field: string; rule: string } | undefined;
}

export const CADENCES = [
  ...(['daily', 'weekly', 'biweekly', 'monthly', 'quarterly', 'semiannual', 'annual', 'five-year'] as const),
  // Values on any days, such as the dates of decisions.
  'irregular',
] as const;
export type Cadence = (typeof CADENCES)[number];

/** Where part of a dataset came from, and when its next data is due. */
export interface Source {
  readonly id: string;
  readonly title: string;
  readonly cadence: Cadence;
  /** First day of the newest period with a value. */
  readonly latest_period: string | null;
  readonly last_loaded_at: string | null;
  /** Age, counted from the end of `latest_period`, from which the source is late, and from which it is stale. */
  readonly late_after_seconds: number;
  readonly stale_after_seconds: number;
  /** The attribution that the publisher asks users to show. */
  readonly attribution?: string | null;
}

/** The description of a version of a dataset. */
export interface Manifest {
  readonly format: 1;
  /** Identifies the content: two datasets with the same version have the same rows. */
  readonly version: string;
  /** RFC 3339, UTC. Becomes the snapshot's publication time. */
  readonly created: string;
  /** A day on which the data was available, `YYYY-MM-DD`. */
  readonly vintage: string;
  /** Whether the numbers are synthetic, not real data. */
  readonly synthetic: boolean;
  readonly sources: readonly Source[];
}
