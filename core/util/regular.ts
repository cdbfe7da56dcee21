/**
 * Reads files that somebody else has named or made, if they are regular ones: opening a pipe waits for its other end,
 * on a thread that stays blocked, and devices have no end.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

const READ = constants.O_RDONLY;

/**
 * @param flags as of `open` in C; reading by default
 * @throws an error of `node:fs`, or one like it with the code `EISDIR` or `ENOTREG`
 */
export const openRegular = async (path: string, flags = READ, mode?: number): Promise<FileHandle> => {
  const file = await open(path, flags | constants.O_NONBLOCK, mode);
  try {
    const kind = await file.stat();
    if (kind.isFile()) return file;
    const code = kind.isDirectory() ? 'EISDIR' : 'ENOTREG';
    throw Object.assign(new Error(`${code}: not a regular file, '${path}'`), { code, syscall: 'open', path });
  } catch (error) {
    await file.close();
    throw error;
  }
};

/** The whole of a text file. */
export const readRegular = async (path: string): Promise<string> => {
  const file = await openRegular(path);
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
};

/** To catch with: undefined where there is no file; any other error is thrown on. */
export const unlessMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
};
