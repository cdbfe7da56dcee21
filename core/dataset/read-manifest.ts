/** Reads the manifest of a dataset directory, and says everything that is wrong with one. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findJsonFault } from '../config/json-fault.js';
import type { Manifest } from '../contracts/dataset.js';
import { StorageError } from '../errors.js';
import { fileErrorMayPass, fileErrorReason } from '../file-error.js';
import { compileSchema } from '../schema.js';
import { type Fault, formatFault } from './fault.js';
import { type DirectoryManifest, MANIFEST_FILE, manifestSchema } from './manifest.js';
import { schemaFaults } from './schema-faults.js';

const isManifest = compileSchema<DirectoryManifest>(manifestSchema);

const fault = (rule: string, field: string | null = null, row: number | null = null): Fault => ({
  file: MANIFEST_FILE,
  row,
  field,
  rule,
});

/** What is wrong with a manifest; nothing when it is one. */
export const manifestFaults = (manifest: unknown): Fault[] => {
  if (!isManifest(manifest)) {
    return schemaFaults(isManifest.errors, manifest).map(({ field, rule }) => fault(rule, field));
  }
  // RFC 3339 knows leap seconds, JavaScript does not.
  const isTime = !Number.isNaN(Date.parse(manifest.created));
  return isTime ? [] : [fault('must be a time without a leap second', 'created')];
};

/** The manifest, or what is wrong with it. */
export const parseManifest = (text: string): DirectoryManifest | Fault[] => {
  const json = text.replace(/^\uFEFF/, '');
  const broken = findJsonFault(json);
  if (broken) return [fault(`is not JSON, column ${broken.column}: ${broken.problem}`, null, broken.line)];
  const manifest: unknown = JSON.parse(json);
  const faults = manifestFaults(manifest);
  return faults.length > 0 ? faults : (manifest as DirectoryManifest);
};

/** Throws `invalid_dataset`, with every fault; `unavailable` when reading failed for a reason that may pass. */
export const readManifest = async (directory: string): Promise<DirectoryManifest> => {
  const file = join(directory, MANIFEST_FILE);
  const text = await readFile(file, 'utf8').catch((cause: unknown): never => {
    const code = fileErrorMayPass(cause) ? 'unavailable' : 'invalid_dataset';
    throw new StorageError(code, `${file} cannot be read: ${fileErrorReason(cause)}.`, { cause });
  });
  const manifest = parseManifest(text);
  if (!Array.isArray(manifest)) return manifest;
  throw new StorageError(
    'invalid_dataset',
    [`${file} is not a manifest:`, ...manifest.map(formatFault)].join('\n  - '),
  );
};

/** The description of a dataset alone, without where its rows are. */
export const descriptionOf = ({ format, version, created, vintage, synthetic, sources }: Manifest): Manifest => ({
  format,
  version,
  created,
  vintage,
  synthetic,
  sources,
});
