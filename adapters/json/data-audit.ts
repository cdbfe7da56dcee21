/** The audit of what was published into a directory: `.audit.ndjson` in it, which moves and is saved with the dataset. */
import { join } from 'node:path';
import { AuditFile } from '../../core/audit/audit-file.js';
import { madeOnly } from '../../core/audit/chain.js';
import {
  contentOf,
  dataAuditEntry,
  isDataAuditEntry,
  publicationOf,
  withPublished,
} from '../../core/audit/data-audit.js';
import type { AuditVerification, DataAudit, DataAuditEntry } from '../../core/contracts/audit.js';
import type { Clock, Logger } from '../../core/contracts/runtime.js';
import { type DirectoryManifest, readManifest } from '../../core/dataset/manifest.js';
import type { ManifestChange } from '../../core/dataset/write-directory.js';
import { StorageError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/files/error-reason.js';

const FILE_MODE = 0o644;

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

/** The digest of what a manifest names. */
const contentOfManifest = ({ collections }: DirectoryManifest): string =>
  contentOf(Object.entries(collections).map(([name, { sha256 = '' }]) => [name, sha256]));

/**
 * Stores the entry of a publication that is about to be made. To be called by one process at a time.
 * @throws StorageError `conflict` where other rows were published under this version
 */
export const recordPublication = (
  directory: string,
  { previous, isDamaged, next }: ManifestChange,
  clock: Clock,
): Promise<void> =>
  auditOf(directory, 'written', async (file) => {
    const { version } = next;
    const content = contentOfManifest(next);
    const entries = madeOnly(await file.list());
    // A damaged manifest is taken for that of the newest publication.
    const replaces = (isDamaged ? entries.at(-1)?.version : previous?.version) ?? null;
    const before = publicationOf(entries, version, replaces);
    if (before?.content !== undefined && before.content !== content) {
      throw new StorageError(
        'conflict',
        `Version "${version}" was published into ${directory} with other rows, on ${before.time}: give the new one another version.`,
      );
    }
    await file.append([dataAuditEntry({ action: 'publish', version, replaces, content }, clock.now())], FILE_MODE);
  });

/** Null: there is no dataset. */
const versionIn = async (directory: string): Promise<string | null> => {
  try {
    return (await readManifest(directory)).version;
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return null;
    throw error;
  }
};

const verify = async (
  file: AuditFile<DataAuditEntry>,
  directory: string,
  expected?: string,
): Promise<AuditVerification> => {
  for (;;) {
    const verified = await file.verify(expected);
    const current = await versionIn(directory);
    const entries = await file.list();
    // Otherwise somebody has published meanwhile.
    if ((entries.at(-1)?.hash ?? null) === verified.head)
      return withPublished(verified, madeOnly(entries), { current });
  }
};

export const directoryAudit = (directory: string, logger: Logger): DataAudit => ({
  list: () => auditOf(directory, 'read', async (file) => madeOnly(await file.list(logger))),
  verify: (expected) => auditOf(directory, 'read', (file) => verify(file, directory, expected)),
});
