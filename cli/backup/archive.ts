/** Packs a backup into one file with `tar`, and unpacks it. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { OperatorError } from '../../core/errors.js';

const TAR = /\.(tar|tar\.gz|tgz)$/;

export const isArchive = (path: string): boolean => TAR.test(path);

const tar = async (...args: readonly string[]): Promise<void> => {
  try {
    await promisify(execFile)('tar', args);
  } catch (cause) {
    const { code, stderr } = cause as NodeJS.ErrnoException & { stderr?: string };
    const reason = code === 'ENOENT' ? 'the program "tar" is not installed; name a directory' : String(stderr).trim();
    throw new OperatorError(`The archive cannot be used: ${reason}.`, [], { cause });
  }
};

/** Creates a temporary folder next to the archive, and removes the folder after `work`. */
const withFolder = async <T>(archive: string, work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = `${archive}.${randomUUID()}.tmp`;
  await mkdir(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const taken = (archive: string): OperatorError => new OperatorError(`${archive} exists: name a new file.`);

/** Unlike a rename, a link never replaces a file. Some file systems, such as exFAT, have no hard links. */
const place = async (packed: string, archive: string): Promise<void> => {
  try {
    await link(packed, archive);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || existsSync(archive)) throw taken(archive);
    await rename(packed, archive);
  }
};

/** @throws OperatorError if the archive exists */
export const pack = async <T>(archive: string, fill: (folder: string) => Promise<T>): Promise<T> => {
  if (existsSync(archive)) throw taken(archive);
  return withFolder(archive, async (folder) => {
    const content = `${folder}/backup`;
    await mkdir(content);
    const result = await fill(content);
    const packed = `${folder}/packed`;
    await tar('-c', ...(archive.endsWith('.tar') ? [] : ['-z']), '-f', packed, '-C', content, '.');
    await chmod(packed, 0o600);
    await place(packed, archive);
    return result;
  });
};

export const unpacked = <T>(archive: string, work: (folder: string) => Promise<T>): Promise<T> =>
  withFolder(archive, async (folder) => {
    await tar('-x', '--no-same-owner', '-f', archive, '-C', folder);
    return work(folder);
  });
