/** Says in words why a file could not be read or written. */

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist, or its folder does not',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder; name a file in it',
  ENOTREG: 'it is a pipe, a socket or a device; name a regular file',
  ENXIO: 'it is a pipe, a socket or a device; name a regular file',
  ELOOP: 'its symbolic links lead in a circle',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "the disk's quota is used up",
  EMFILE: 'too many files are open',
  EEXIST: 'it exists already',
};

/** The reason of an error of `node:fs`, without the path. */
export const fileErrorReason = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code && reasons[code]) ?? code ?? message;
};

/** Errors that may be over at the next attempt, with the file as it is. */
const passing: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM', 'EIO', 'ETIMEDOUT']);

export const fileErrorMayPass = (error: unknown): boolean => passing.has((error as NodeJS.ErrnoException).code);
