const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist, or its folder does not',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder; name a file in it',
  ENOTREG: 'it is a pipe, a socket or a device; name a regular file',
  ENXIO: 'it is a pipe, a socket or a device; name a regular file',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EMFILE: 'too many files are open',
  EEXIST: 'it already exists',
};

interface FileError extends NodeJS.ErrnoException {
  readonly maxBytes?: number;
  readonly reason?: string;
}

const sizeOf = (bytes: number): string => {
  if (bytes < 2 ** 10) return `${bytes} bytes`;
  return bytes < 2 ** 20 ? `${Math.round(bytes / 2 ** 10)} KiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
};

export const fileErrorReason = (error: unknown): string => {
  const { code, message, maxBytes, reason } = error as FileError;
  if (reason !== undefined) return reason;
  if (code === 'EFBIG') return maxBytes === undefined ? 'it is too large' : `it is larger than ${sizeOf(maxBytes)}`;
  return (code && reasons[code]) ?? code ?? message;
};

/** Errors after which a retry can succeed, even if the file has not changed. */
const transient: ReadonlySet<string | undefined> = new Set([
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'ENOMEM',
  'EIO',
  'ETIMEDOUT',
]);

export const fileErrorMayPass = (error: unknown): boolean => transient.has((error as NodeJS.ErrnoException).code);
