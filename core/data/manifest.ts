import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import { StorageError } from '../errors.js';
import { fileErrorMayPass, fileErrorReason } from '../util/error-reason.js';
import { readRegularBytes, sha256Of } from '../util/read-file.js';
import { compileSchema } from '../validation/compile-schema.js';
import { findJsonError, measureJson, withoutMark } from '../validation/json.js';
import { cadence, date, dateTime, nullable } from '../validation/schemas.js';
import { type DataError, formatDataError, schemaErrors } from './data-errors.js';

export const MANIFEST_FILE = 'manifest.json';
const FORMAT = 1;

export interface CollectionFile {
  readonly file: string;
  /** The number of rows and the SHA-256 of the file are verified if they are present. */
  readonly rows?: number;
  readonly sha256?: string;
}

export interface DirectoryManifest extends Manifest {
  readonly published_at?: string;
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
    format: { const: FORMAT, description: 'Version of this format.' },
    version: {
      type: 'string',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
      description: 'Identifies the content. Different rows need a new version.',
    },
    created: { ...dateTime, description: 'When this version was created. This becomes its publication time.' },
    published_at: {
      ...dateTime,
      description: 'The publication time, if it is later than `created`. Publishing writes this field.',
    },
    vintage: { ...date, description: 'A day on which the data was available.' },
    synthetic: { type: 'boolean', description: 'Whether the values are synthetic rather than real data.' },
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
          cadence,
          latest_period: { ...nullable(date), description: 'First day of the most recent period.' },
          last_loaded_at: nullable(dateTime),
          late_after_seconds: {
            type: 'integer',
            minimum: 0,
            description: 'Age at which the source is late, measured from the end of its most recent period.',
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

/** Parsing a larger manifest would block the event loop for too long. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_NAMES = 100_000;

const errorOf = (rule: string, field: string | null = null, row: number | null = null): DataError => ({
  file: MANIFEST_FILE,
  row,
  field,
  rule,
});

export const manifestErrors = (manifest: unknown): DataError[] => {
  const { format } = Object(manifest) as { format?: unknown };
  if (typeof format === 'number' && format !== FORMAT)
    return [errorOf(`is ${format}, but this version of the program reads only format ${FORMAT}`, 'format')];
  if (!isManifest(manifest)) {
    return schemaErrors(isManifest.errors, manifest).map(({ field, rule }) => errorOf(rule, field));
  }
  // RFC 3339 allows leap seconds, but `Date` does not.
  const leapSeconds = (['created', 'published_at'] as const).filter((field) => {
    const time = manifest[field];
    return time !== undefined && Number.isNaN(Date.parse(time));
  });
  const ids = manifest.sources.map(({ id }) => id);
  return [
    ...leapSeconds.map((field) => errorOf('must be a time without a leap second', field)),
    ...ids.flatMap((id, i) =>
      ids.indexOf(id) < i ? [errorOf('repeats the id of an earlier source', `sources[${i}].id`)] : [],
    ),
  ];
};

const parseManifest = (bytes: Buffer): DirectoryManifest | DataError[] => {
  if (!isUtf8(bytes)) return [errorOf('is not UTF-8')];
  if (measureJson(bytes).names > MAX_NAMES) return [errorOf(`has more than ${MAX_NAMES} property names`)];
  const json = withoutMark(bytes.toString('utf8'));
  const broken = findJsonError(json);
  if (broken) return [errorOf(`is not JSON, column ${broken.column}: ${broken.problem}`, null, broken.line)];
  const manifest: unknown = JSON.parse(json);
  const errors = manifestErrors(manifest);
  return errors.length > 0 ? errors : (manifest as DirectoryManifest);
};

const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** @throws StorageError `invalid_dataset` that lists every error, or `unavailable` after a temporary read error */
export const readManifest = async (directory: string): Promise<DirectoryManifest> => {
  const file = join(directory, MANIFEST_FILE);
  const bytes = await readRegularBytes(file, MAX_BYTES).catch((cause: unknown): never => {
    const code = fileErrorMayPass(cause) ? 'unavailable' : 'invalid_dataset';
    const problem = isFile(directory)
      ? `${directory} is a file, not a dataset directory; use the adapter "sqlite" for a database file`
      : `${file} cannot be read: ${fileErrorReason(cause)}`;
    throw new StorageError(code, `${problem}.`, { cause });
  });
  const manifest = parseManifest(bytes);
  if (!Array.isArray(manifest)) return manifest;
  throw new StorageError(
    'invalid_dataset',
    [`${file} is not a valid manifest:`, ...manifest.map(formatDataError)].join('\n  - '),
  );
};

/**
 * Returns true if `readManifest` rejected because the manifest is invalid. In this case, replacing the manifest loses
 * no data.
 */
export const isDamagedManifest = (error: unknown): boolean =>
  error instanceof StorageError && error.code === 'invalid_dataset' && error.cause === undefined;

export type Description = Omit<Manifest, 'version'> & { readonly version?: string | undefined };

/** Returns the vintage and a hash of the content, such as `2025-12-31-1f0c2a9b7d3e`. */
export const contentVersion = (
  { vintage, sources }: Pick<Description, 'vintage' | 'sources'>,
  sha256: Readonly<Record<string, string>>,
): string => {
  const hash = createHash('sha256').update(JSON.stringify(sources));
  for (const name of Object.keys(sha256).sort()) hash.update(`\n${name} ${sha256[name]}`);
  return `${vintage}-${hash.digest('hex').slice(0, 12)}`;
};

export const digestsOf = async (
  directory: string,
  files: DirectoryManifest['collections'],
): Promise<Readonly<Record<string, string>>> => {
  const digests: Record<string, string> = {};
  for (const [name, { file, sha256 }] of Object.entries(files))
    digests[name] = sha256 ?? (await sha256Of(join(directory, file)));
  return digests;
};

export const descriptionOf = ({ format, version, created, vintage, synthetic, sources }: Manifest): Manifest => ({
  format,
  version,
  created,
  vintage,
  synthetic,
  sources,
});

/** Returns the publication time. A `published_at` before `created` belongs to an earlier version, and is ignored. */
export const publishedAtOf = ({ created, published_at = created }: DirectoryManifest): Date =>
  new Date(Math.max(Date.parse(created), Date.parse(published_at)));

const LAST_YEAR = 9999;

/** Returns the manifest with this publication time. The manifest's format has no times after the year 9999. */
export const withPublicationTime = (manifest: DirectoryManifest, time: Date): DirectoryManifest => {
  const isStored = time.getTime() !== Date.parse(manifest.created) && time.getUTCFullYear() <= LAST_YEAR;
  const published = isStored ? { published_at: time.toISOString() } : {};
  return { ...descriptionOf(manifest), ...published, collections: manifest.collections };
};
