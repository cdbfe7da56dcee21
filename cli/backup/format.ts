/**
 * The format of a backup: a directory with these files.
 *
 * - `snapshots/1`, `snapshots/2`, ...: a dataset directory for each version, oldest first
 * - `keys.ndjson`, `key-audit.ndjson`, `key-use.ndjson`, `data-audit.ndjson`: one JSON object per line
 * - `declarations/*.collection.json`: the table declarations
 * - `config.json`: the configuration with masked secrets, for reference only
 * - `backup.json`: describes the backup. It is written last, so it is missing from interrupted backups.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { OperatorError } from '../../core/errors.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { readRegular } from '../../core/util/read-file.js';
import { compileSchema } from '../../core/validation/compile-schema.js';

export const BACKUP_FILE = 'backup.json';

export const FILES = {
  keys: 'keys.ndjson',
  keyAudit: 'key-audit.ndjson',
  keyUse: 'key-use.ndjson',
  dataAudit: 'data-audit.ndjson',
  config: 'config.json',
} as const;

export interface Backup {
  readonly format: 1;
  readonly created: string;
  readonly program: string;
  /**
   * The versions in the backup, oldest first. The first version is in `snapshots/1`, the second in `snapshots/2`, and
   * so on.
   */
  readonly versions: readonly { readonly version: string; readonly published_at: string }[];
  /** The versions that became current, oldest first. `version` is null if the backup does not contain the version. */
  readonly moves: readonly { readonly version: string | null; readonly published_at: string }[];
  /** The SHA-256 of each file. Files with rows are omitted, because the manifests contain their digests. */
  readonly files: Readonly<Record<string, string>>;
  /** The SHA-256 of this object as JSON, without the field `digest`. */
  readonly digest: string;
}

const time = { type: 'string', format: 'date-time' };

const isBackup = compileSchema<Backup>({
  type: 'object',
  required: ['format', 'created', 'program', 'versions', 'moves', 'files', 'digest'],
  properties: {
    format: { const: 1 },
    versions: {
      type: 'array',
      items: { type: 'object', required: ['version', 'published_at'], properties: { published_at: time } },
    },
    moves: {
      type: 'array',
      items: {
        type: 'object',
        required: ['version', 'published_at'],
        properties: { version: { type: ['string', 'null'] }, published_at: time },
      },
    },
    files: { type: 'object', additionalProperties: { type: 'string' } },
  },
});

export const digestOf = ({ digest: _, ...backup }: Omit<Backup, 'digest'> & { readonly digest?: string }): string =>
  hash('sha256', JSON.stringify(backup), 'hex');

export const snapshotFolder = (index: number): string => join('snapshots', String(index + 1));

const MAX_BYTES = 256 * 2 ** 20;

/** @throws OperatorError if the directory is not a complete backup in a known format */
export const readBackup = async (directory: string): Promise<Backup> => {
  const text = await readRegular(join(directory, BACKUP_FILE), MAX_BYTES).catch((cause: NodeJS.ErrnoException) => {
    const problems: Readonly<Record<string, string>> = {
      ENOENT: `${directory} is not a complete backup: it has no ${BACKUP_FILE}. The export may have been interrupted.`,
      ENOTDIR: `${directory} is not a backup. A backup is a directory, or a file that ends with .tar, .tar.gz or .tgz.`,
    };
    const other = `${join(directory, BACKUP_FILE)} cannot be read: ${fileErrorReason(cause)}.`;
    throw new OperatorError(problems[cause.code ?? ''] ?? other, [], { cause });
  });
  const damaged = () => new OperatorError(`The backup ${directory} is damaged: ${BACKUP_FILE} was changed or cut off.`);
  let value: Backup;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged();
  }
  const { format } = value;
  if (typeof format === 'number' && format !== 1) {
    throw new OperatorError(`The backup ${directory} has format ${format}; this version can only read format 1.`);
  }
  if (!isBackup(value) || digestOf(value) !== value.digest) throw damaged();
  return value;
};
