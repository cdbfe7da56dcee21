/**
 * Replaces files atomically: even after a crash, readers see the old or the new content. A replaced file keeps its
 * owner, group and mode.
 */
import { randomUUID } from 'node:crypto';
import {
  chown,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { assertRegular, unlessMissing } from './read-file.js';

export interface NewFile {
  readonly mode?: number;
  /**
   * Path of an existing file. The new file gets the same permissions. When running as root, the new file also gets the
   * same owner and group.
   */
  readonly like?: string;
}

interface Ownership {
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number | undefined;
}

export const linkTarget = async (path: string): Promise<string> => {
  try {
    return await realpath(path);
  } catch (error) {
    unlessMissing(error as NodeJS.ErrnoException);
    const link = await lstat(path).catch(unlessMissing);
    return link?.isSymbolicLink() ? linkTarget(resolve(dirname(path), await readlink(path))) : path;
  }
};

/**
 * When running as root, gives a new file the owner of the file `like` or of the folder, so that a service can read the
 * new file.
 */
const ownershipOfNew = async (path: string, { mode, like }: NewFile): Promise<Ownership> => {
  const related = like === undefined ? undefined : await stat(like).catch(unlessMissing);
  const permissions = related ? related.mode & 0o777 : mode;
  if (process.getuid?.() !== 0) return { mode: permissions };
  const { uid, gid } = related ?? (await stat(dirname(path)));
  return { uid, gid, mode: permissions };
};

const applyOwnership = async (file: FileHandle, { uid, gid, mode }: Ownership): Promise<void> => {
  const found = await file.stat();
  if (uid !== undefined && gid !== undefined && (uid !== found.uid || gid !== found.gid)) {
    await file.chown(uid, gid).catch((error: Error) => {
      const reason = `it belongs to user ${uid} and group ${gid}, which this user cannot keep; run the command as root or as its owner: sudo -u '#${uid}' ...`;
      throw Object.assign(error, { reason });
    });
  }
  if (mode !== undefined && mode !== (found.mode & 0o777)) await file.chmod(mode);
};

export const ownNewFile = async (path: string, file: FileHandle, options: NewFile = {}): Promise<void> =>
  applyOwnership(file, await ownershipOfNew(path, options));

/** Creates each folder separately, because on Linux a recursive `mkdir` never returns for a path under /proc. */
const makeMissing = async (path: string, mode: number | undefined): Promise<string | undefined> => {
  const missing: string[] = [];
  for (let at = path; !(await exists(at)); at = dirname(at)) missing.unshift(at);
  // Rejects if the path is a file.
  if (missing.length === 0) await mkdir(path, { recursive: true });
  for (const folder of missing) {
    await mkdir(folder, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  return missing[0];
};

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );

/**
 * Creates a folder and its parents. When running as root, they get the owner of the folder around them.
 * @returns the outermost folder that was created, or undefined if the folder existed
 */
export const makeFolder = async (path: string, mode?: number): Promise<string | undefined> => {
  const top = await makeMissing(resolve(path), mode);
  if (top === undefined || process.getuid?.() !== 0) return top;
  const { uid, gid } = await stat(dirname(top));
  for (let folder = resolve(path); folder.startsWith(top); folder = dirname(folder)) await chown(folder, uid, gid);
  return top;
};

/** Ensures that a new directory entry survives a crash, if the system supports it. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
};

const PIECE_LENGTH = 64 * 1024;

/** Joins short strings, because every write needs a system call. */
export function* inPieces(texts: Iterable<string>): Generator<string> {
  let piece = '';
  for (const text of texts) {
    piece += text;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** @param options.beforeCommit if this function rejects, the file stays unchanged */
export const writeFileAtomic = async (
  path: string,
  content: string | Iterable<string>,
  { beforeCommit, ...options }: NewFile & { beforeCommit?: () => Promise<void> } = {},
): Promise<void> => {
  const target = await linkTarget(path);
  const existing = await stat(target).catch(unlessMissing);
  if (existing) assertRegular(target, existing);
  const temporary = `${target}.${randomUUID()}.tmp`;
  const file = await open(temporary, 'wx', existing ? 0o600 : options.mode);
  try {
    try {
      if (existing) await applyOwnership(file, { ...existing, mode: existing.mode & 0o777 });
      else await ownNewFile(target, file, options);
      await writeFile(file, typeof content === 'string' ? content : inPieces(content));
      await file.sync();
    } finally {
      await file.close();
    }
    await beforeCommit?.();
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(target));
};
