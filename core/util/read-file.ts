/** Reads only regular files, because reading a pipe can block a thread, and a device might never end. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { constants, readFileSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;

const MIB = 2 ** 20;
const DEFAULT_MAX_BYTES = 64 * MIB;

export const assertRegular = (path: string, found: Stats): void => {
  if (found.isFile()) return;
  const code = found.isDirectory() ? 'EISDIR' : 'ENOTREG';
  throw Object.assign(new Error(`${code}: not a regular file, '${path}'`), { code, syscall: 'open', path });
};

const assertSize = (path: string, size: number, maxBytes: number): void => {
  if (size <= maxBytes) return;
  const message = `EFBIG: file larger than ${maxBytes} bytes, '${path}'`;
  throw Object.assign(new Error(message), { code: 'EFBIG', syscall: 'read', path, maxBytes });
};

/** A `catch` handler that returns undefined if the file is missing, and rethrows all other errors. */
export const unlessMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
};

/**
 * Opens a regular file.
 * @throws an error from `node:fs`, an error with the code `EISDIR` for a folder, or an error with the code `ENOTREG`
 *   for a pipe, socket or device
 */
export const openRegular = async (path: string, flags = O_RDONLY, mode?: number): Promise<FileHandle> => {
  // The file type is checked before opening, because opening some devices has side effects.
  const found = await stat(path).catch(unlessMissing);
  if (found) assertRegular(path, found);
  const file = await open(path, flags | O_NONBLOCK | O_NOCTTY, mode);
  try {
    // The file might have been replaced since the first check.
    assertRegular(path, await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
};

export const readRegularBytes = async (path: string, maxBytes = DEFAULT_MAX_BYTES): Promise<Buffer> => {
  const file = await openRegular(path);
  try {
    const { size } = await file.stat();
    assertSize(path, size, maxBytes);
    // The size can be wrong, because the file might be growing, and files in /proc have size 0.
    let buffer = Buffer.allocUnsafeSlow(size + 1);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, bytes, Math.min(MIB, buffer.length - bytes));
      bytes += bytesRead;
      assertSize(path, bytes, maxBytes);
      if (bytesRead === 0) return buffer.subarray(0, bytes);
      if (bytes === buffer.length) buffer = Buffer.concat([buffer], 2 * bytes + MIB);
    }
  } finally {
    await file.close();
  }
};

export async function* streamRegular(path: string, maxBytes: number, start = 0): AsyncGenerator<Buffer> {
  const file = await openRegular(path);
  try {
    let bytes = 0;
    for await (const chunk of file.createReadStream({ start, autoClose: false })) {
      bytes += chunk.length;
      assertSize(path, bytes, maxBytes);
      yield chunk;
    }
  } finally {
    await file.close();
  }
}

const textOf = (path: string, bytes: Buffer): string => {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const reason = 'it is not in UTF-8; save it in UTF-8';
  throw Object.assign(new Error(`EILSEQ: not in UTF-8, '${path}'`), { code: 'EILSEQ', syscall: 'read', path, reason });
};

export const readRegular = async (path: string, maxBytes?: number): Promise<string> =>
  textOf(path, await readRegularBytes(path, maxBytes));

export const readRegularSync = (path: string, maxBytes = DEFAULT_MAX_BYTES): string => {
  const found = statSync(path);
  assertRegular(path, found);
  assertSize(path, found.size, maxBytes);
  const bytes = readFileSync(path);
  assertSize(path, bytes.length, maxBytes);
  return textOf(path, bytes);
};

export const sha256Of = async (path: string): Promise<string> => {
  const file = await openRegular(path);
  const hash = createHash('sha256');
  await pipeline(file.createReadStream(), hash);
  return hash.digest('hex');
};
