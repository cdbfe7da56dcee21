/** The manifest of a dataset directory, which describes the dataset and names the file of each collection. */

import { join } from 'node:path';
import { CADENCES, type Manifest } from '../contracts/dataset.js';
import { date, dateTime, type JsonSchema, nullable } from '../contracts/json-schema.js';
import { StorageError } from '../errors.js';
import { fileErrorMayPass, fileErrorReason } from '../util/error-reason.js';
import { readRegular } from '../util/regular.js';
import { compileSchema } from '../validation/compile-schema.js';
import { findJsonError, withoutMark } from '../validation/json.js';
import { type DataError, formatDataError, schemaErrors } from './data-errors.js';

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
          latest_period: { ...nullable(date), description: 'First day of the newest period.' },
          last_loaded_at: nullable(dateTime),
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

const isManifest = compileSchema<DirectoryManifest>(manifestSchema);

const fault = (rule: string, field: string | null = null, row: number | null = null): DataError => ({
  file: MANIFEST_FILE,
  row,
  field,
  rule,
});

/** What is wrong with a manifest; nothing when it is one. */
export const manifestErrors = (manifest: unknown): DataError[] => {
  if (!isManifest(manifest)) {
    return schemaErrors(isManifest.errors, manifest).map(({ field, rule }) => fault(rule, field));
  }
  // RFC 3339 knows leap seconds, JavaScript does not.
  const isTime = !Number.isNaN(Date.parse(manifest.created));
  return isTime ? [] : [fault('must be a time without a leap second', 'created')];
};

/** The manifest, or what is wrong with it. */
const parseManifest = (text: string): DirectoryManifest | DataError[] => {
  const json = withoutMark(text);
  const broken = findJsonError(json);
  if (broken) return [fault(`is not JSON, column ${broken.column}: ${broken.problem}`, null, broken.line)];
  const manifest: unknown = JSON.parse(json);
  const faults = manifestErrors(manifest);
  return faults.length > 0 ? faults : (manifest as DirectoryManifest);
};

/** Throws `invalid_dataset`, with every fault; `unavailable` when reading failed for a reason that may pass. */
export const readManifest = async (directory: string): Promise<DirectoryManifest> => {
  const file = join(directory, MANIFEST_FILE);
  const text = await readRegular(file).catch((cause: unknown): never => {
    const code = fileErrorMayPass(cause) ? 'unavailable' : 'invalid_dataset';
    throw new StorageError(code, `${file} cannot be read: ${fileErrorReason(cause)}.`, { cause });
  });
  const manifest = parseManifest(text);
  if (!Array.isArray(manifest)) return manifest;
  throw new StorageError(
    'invalid_dataset',
    [`${file} is not a manifest:`, ...manifest.map(formatDataError)].join('\n  - '),
  );
};

/** Whether `readManifest` has read the file and found no manifest in it, so that replacing it loses nothing. */
export const isDamagedManifest = (error: unknown): boolean =>
  error instanceof StorageError && error.code === 'invalid_dataset' && error.cause === undefined;

/** The description of a dataset alone, without where its rows are. */
export const descriptionOf = ({ format, version, created, vintage, synthetic, sources }: Manifest): Manifest => ({
  format,
  version,
  created,
  vintage,
  synthetic,
  sources,
});
