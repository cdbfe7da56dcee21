/** Replaces a file as a whole: readers, and a crash at any moment, find the old content or the new one. */
import { randomUUID } from 'node:crypto';
import { open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes the directory's entry itself durable, where the system allows it. */
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
};

/**
 * @param path a symbolic link keeps pointing where it does; the file there is replaced
 * @param options.mode permissions of a new file; an existing one keeps its own
 * @param options.beforeCommit runs when all is written; if it rejects, nothing has changed
 */
export const writeFileAtomic = async (
  path: string,
  content: string,
  { mode = 0o666, beforeCommit }: { mode?: number; beforeCommit?: () => Promise<void> } = {},
): Promise<void> => {
  const target = await realpath(path).catch(() => path);
  const existing = await stat(target).catch(() => undefined);
  const temporary = `${target}.${randomUUID()}.tmp`;
  const handle = await open(temporary, 'wx', mode);
  try {
    try {
      if (existing) await handle.chmod(existing.mode & 0o777);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await beforeCommit?.();
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(target));
};
