/** The manifest of a dataset directory: the dataset's description, and the file of each collection. */
import { CADENCES, type Manifest } from '../contracts/dataset.js';
import { date, dateTime, type JsonSchema } from '../contracts/json-schema.js';

export const MANIFEST_FILE = 'manifest.json';

/** One collection's file: one JSON document a line (NDJSON, UTF-8, LF), in key order. */
export interface CollectionFile {
  /** Relative to the directory. */
  readonly file: string;
  /** Checked where given; files written by the tools always have both. */
  readonly rows?: number;
  readonly sha256?: string;
}

export interface DirectoryManifest extends Manifest {
  readonly collections: Readonly<Record<string, CollectionFile>>;
}

export const manifestSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Manifest of a dataset directory',
  type: 'object',
  required: ['format', 'version', 'created', 'vintage', 'synthetic', 'sources', 'collections'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    format: { const: 1, description: 'Version of this format.' },
    version: {
      type: 'string',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
      description: 'Names the content; another content needs another version.',
    },
    created: { ...dateTime, description: 'When this version was made; the publication time of its snapshot.' },
    vintage: { ...date, description: 'The date up to which the data was known.' },
    synthetic: { type: 'boolean', description: 'Whether the numbers are made up.' },
    sources: {
      type: 'array',
      items: {
        type: 'object',
        required: [
          'id',
          'title',
          'cadence',
          'latest_period',
          'last_loaded_at',
          'late_after_seconds',
          'stale_after_seconds',
        ],
        additionalProperties: false,
        properties: {
          id: { type: 'string', minLength: 1 },
          title: { type: 'string', minLength: 1 },
          cadence: { enum: CADENCES },
          latest_period: { ...date, type: ['string', 'null'], description: 'First day of the newest period.' },
          last_loaded_at: { ...dateTime, type: ['string', 'null'] },
          late_after_seconds: {
            type: 'integer',
            minimum: 0,
            description: 'Age at which the source is late, counted from the end of its newest period.',
          },
          stale_after_seconds: { type: 'integer', minimum: 0 },
          attribution: { type: ['string', 'null'] },
        },
      },
    },
    collections: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['file'],
        additionalProperties: false,
        properties: {
          file: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', description: 'Relative to the directory.' },
          rows: { type: 'integer', minimum: 0 },
          sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
        },
      },
    },
  },
} as const satisfies JsonSchema;
