import { statSync } from 'node:fs';
import { StorageError } from 'metro-forecast-api/adapter';

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_BUSY/, 'another process has locked it'],
  [/^SQLITE_FULL/, 'the disk is full'],
  [/^SQLITE_READONLY/, 'it is read-only for this user'],
  [/^SQLITE_NOTADB/, 'it is not an SQLite database'],
  [/^SQLITE_CORRUPT/, 'it is damaged; restore it from a backup'],
  [/^SQLITE_CANTOPEN/, 'this user has no permission to open it, or to create files in its folder'],
  [/^SQLITE_IOERR/, 'the disk reported an error'],
];

export const NO_DATASET = 'There is no dataset yet.';
export const UNSUITABLE = 'A new version was published for another configuration and is not served.';

/** If a database cannot be opened, the driver reports the SQLite result code only in the message. */
export const codeOf = (error: object): string => {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  return code || (/ConnectionFailed\(.*: 14"\)$/.test(message ?? '') ? 'SQLITE_CANTOPEN' : '');
};

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

/** Identifies a file, so that a replacement is noticed. Undefined if the file does not exist. */
export const fileId = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
};

export const storageError = (path: string, cause: unknown): unknown => {
  const code = codeOf(cause as object);
  if (cause instanceof StorageError || !code.startsWith('SQLITE_')) return cause;
  const reason =
    code.startsWith('SQLITE_CANTOPEN') && isFolder(path)
      ? 'it is a folder; name a database file, or use the adapter "json" for a dataset directory'
      : (REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? `${(cause as Error).message} (${code})`);
  return new StorageError('unavailable', `The database ${path} cannot be used: ${reason}.`, { cause });
};

/** Returns true if another process holds the lock, which it will probably release soon. */
export const isBusy = (error: unknown): boolean => codeOf((error as Error).cause ?? {}).startsWith('SQLITE_BUSY');

/**
 * Returns true if another process changed the schema while SQLite was opening a full-text index. SQLite retries this
 * only once.
 */
export const isSchemaChange = (error: unknown): boolean => codeOf(error as object) === 'SQLITE_SCHEMA';
