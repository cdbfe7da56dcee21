/**
 * The audit log of a dataset directory. It is stored in the directory, so that both are moved and backed up together.
 */
import { join } from 'node:path';
import type { AuditVerification, DataAudit, DataAuditEntry } from '../contracts/audit.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { type DirectoryManifest, isDamagedManifest, MANIFEST_FILE, readManifest } from '../data/manifest.js';
import type { ManifestChange } from '../data/write-directory.js';
import { StorageError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { sha256Of } from '../util/read-file.js';
import { AuditFile } from './audit-file.js';
import { madeOnly, verifyStore } from './chain.js';
import { contentOf, dataAuditEntry, isDataAuditEntry, publicationOf, sumsOf, withPublished } from './data-audit.js';

const auditOf = async <T>(
  directory: string,
  what: 'read' | 'written',
  work: (file: AuditFile<DataAuditEntry>) => Promise<T>,
): Promise<T> => {
  const path = join(directory, '.audit.ndjson');
  try {
    return await work(new AuditFile(path, isDataAuditEntry));
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const start = what === 'written' ? 'Nothing has changed: the' : 'The';
    const message = `${start} audit ${path} cannot be ${what}: ${fileErrorReason(cause)}.`;
    throw new StorageError('unavailable', message, { cause });
  }
};

/**
 * Records a publication. Must be called right before the publication takes effect, by only one process at a time.
 * @throws StorageError with the code `conflict` if this version was already published with different rows
 */
export const recordPublication = (
  directory: string,
  { previous, isDamaged, next }: ManifestChange,
  clock: Clock,
): Promise<void> =>
  auditOf(directory, 'written', async (file) => {
    const { version } = next;
    const content = contentOf(sumsOf(next));
    const entries = madeOnly(await file.list());
    const replaces = (isDamaged ? entries.at(-1)?.version : previous?.version) ?? null;
    // If this version is current, `writeDirectory` has already compared the old rows with the new rows.
    const before = previous?.version === version ? undefined : publicationOf(entries, version, replaces);
    if (before?.content !== undefined && before.content !== content) {
      throw new StorageError(
        'conflict',
        `Version "${version}" was published to ${directory} with different rows, on ${before.time}: give the new rows a different version.`,
      );
    }
    await file.append([dataAuditEntry({ action: 'publish', version, replaces, content }, clock.now())], {
      like: join(directory, MANIFEST_FILE),
    });
  });

const manifestIn = async (directory: string): Promise<DirectoryManifest | null | { readonly damage: string }> => {
  try {
    return await readManifest(directory);
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return null;
    if (isDamagedManifest(error)) return { damage: (error as Error).message };
    throw error;
  }
};

const SUM_IN_NAME = /\.([0-9a-f]{12})\.ndjson$/;

const editsIn = async (
  directory: string,
  manifest: DirectoryManifest,
  content: string | undefined,
): Promise<readonly string[]> => {
  const notes: string[] = [];
  const sums = new Map<string, string>();
  for (const [name, { file, sha256 }] of Object.entries(manifest.collections)) {
    try {
      const found = await sha256Of(join(directory, file));
      sums.set(name, found);
      const isEdited = sha256 !== undefined && sha256 !== found;
      if (isEdited || !found.startsWith(SUM_IN_NAME.exec(file)?.[1] ?? '')) notes.push(`${file} was changed`);
    } catch (error) {
      notes.push(`${file} cannot be read: ${fileErrorReason(error)}`);
    }
  }
  if (notes.length === 0 && content !== undefined && contentOf(sums) !== content) {
    notes.push(`${MANIFEST_FILE} was changed: it refers to different rows`);
  }
  return notes.map((note) => `version "${manifest.version}": ${note} after it was published`);
};

const verify = (
  file: AuditFile<DataAuditEntry>,
  directory: string,
  expected: string | undefined,
): Promise<AuditVerification> =>
  verifyStore(file, expected, async (all) => {
    const entries = madeOnly(all);
    const manifest = await manifestIn(directory);
    const newest = entries.at(-1)?.version ?? null;
    const isDamaged = manifest !== null && 'damage' in manifest;
    const current = isDamaged ? newest : (manifest?.version ?? null);
    const notes = isDamaged
      ? [`version ${newest === null ? 'unknown' : `"${newest}"`}: ${manifest.damage}`]
      : manifest && (await editsIn(directory, manifest, publicationOf(entries, manifest.version, current)?.content));
    return (verified) => {
      const found = withPublished(verified, entries, { current });
      return { ...found, notes: [...found.notes, ...(notes ?? [])] };
    };
  });

/** Returns all entries, including entries of changes that were never made. */
export const directoryEntries = (directory: string): Promise<readonly DataAuditEntry[]> =>
  auditOf(directory, 'read', (file) => file.list());

export const replaceDirectoryEntries = (directory: string, entries: readonly DataAuditEntry[]): Promise<void> =>
  auditOf(directory, 'written', (file) => file.replace(entries, { like: join(directory, MANIFEST_FILE) }));

export const directoryAudit = (directory: string, logger: Logger): DataAudit => ({
  list: () => auditOf(directory, 'read', async (file) => madeOnly(await file.list(logger))),
  verify: (expected) => auditOf(directory, 'read', (file) => verify(file, directory, expected)),
});
