/**
 * Lets one process at a time change a file. The lock is another file next to it. After a crash, the lock becomes stale.
 */
import { randomUUID } from 'node:crypto';
import { open, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileErrorReason } from './error-reason.js';
import { readRegular, unlessMissing } from './read-file.js';
import { linkTarget, ownNewFile } from './write-atomic.js';

/** A holder that has not finished after this time is presumed dead. */
const STALE_MS = 10_000;
const RETRY_MS = 20;
const MAX_LOCK_BYTES = 4096;

export class FileLockError extends Error {
  override readonly name = 'FileLockError';
}

/** Adds a reason with the path of the lock file, because the caller's message names the file that is to be changed. */
const failing =
  (path: string, what: 'created' | 'read' | 'removed') =>
  (error: NodeJS.ErrnoException): never => {
    throw Object.assign(error, { reason: `its lock file ${path} cannot be ${what}: ${fileErrorReason(error)}` });
  };

/** Resolves with undefined if there is no lock file. */
const read = (path: string): Promise<string | undefined> =>
  readRegular(path, MAX_LOCK_BYTES).catch(unlessMissing).catch(failing(path, 'read'));

const remove = (path: string): Promise<void> => unlink(path).catch(unlessMissing).catch(failing(path, 'removed'));

/** Creates the file unless it exists. Any user may read it, to check whether its holder is still running. */
const create = async (path: string, content: string): Promise<boolean> => {
  try {
    const file = await open(path, 'wx', 0o644);
    try {
      await file.writeFile(content);
      await ownNewFile(path, file);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    // If the disk is full, the file was created but is empty.
    if (syscall !== 'open') await unlink(path).catch(unlessMissing);
    // The folder does not exist, so the file that is to be changed cannot be there either.
    if (code === 'ENOENT') throw error;
    return failing(path, 'created')(error as NodeJS.ErrnoException);
  }
};

/** The holder of a lock that is still empty after this time has ended, because it writes its id immediately. */
const EMPTY_MS = 1000;

/** Whether the holder has ended. If it runs on another machine, this is not known. */
const holderEnded = async (lock: string, content: string): Promise<boolean> => {
  if (content === '') {
    const modified = (await stat(lock).catch(unlessMissing))?.mtimeMs;
    return modified !== undefined && Date.now() - modified > EMPTY_MS;
  }
  const [pid, host] = content.split(' ');
  if (host !== hostname() || !/^\d+$/.test(pid ?? '')) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
};

/**
 * Removes a stale lock. When two processes find it stale, the slower one must not remove the lock that the faster one
 * has taken since. A second lock file lets one process at a time check again and remove it.
 */
const removeStale = async (lock: string, content: string, staleMs: number): Promise<void> => {
  const guard = `${lock}.break`;
  if (!(await create(guard, ''))) {
    const age = Date.now() - ((await stat(guard).catch(unlessMissing))?.mtimeMs ?? Date.now());
    // An old guard was left by a process that ended during the system calls below.
    if (age > staleMs) await remove(guard);
    return;
  }
  try {
    if ((await read(lock)) === content) await remove(lock);
  } finally {
    await remove(guard);
  }
};

/** Waits for the lock. A lock that stays unchanged for `staleMs`, according to this process's clock, is stale. */
const waitFor = async (lock: string, content: string, staleMs: number): Promise<void> => {
  let seen: string | undefined;
  let since = performance.now();
  while (!(await create(lock, content))) {
    const held = await read(lock);
    if (held !== seen) {
      seen = held;
      since = performance.now();
    }
    if (held !== undefined && ((await holderEnded(lock, held)) || performance.now() - since > staleMs))
      await removeStale(lock, held, staleMs);
    else await delay(RETRY_MS * (0.5 + Math.random()));
  }
};

/** Takes the lock or rejects. A lock whose file was not touched for `staleMs` is stale. */
const takeOrRefuse = async (lock: string, content: string, staleMs: number): Promise<void> => {
  while (!(await create(lock, content))) {
    const held = await read(lock);
    const modified = (await stat(lock).catch(unlessMissing))?.mtimeMs;
    if (held === undefined || modified === undefined) continue;
    const isEnded = await holderEnded(lock, held);
    if (held === '' && !isEnded) {
      await delay(RETRY_MS);
      continue;
    }
    if (!isEnded && Date.now() - modified <= staleMs) {
      const [pid, host] = held.split(' ');
      throw new FileLockError(`Process ${pid} on ${host} holds the lock. If it has ended, remove ${lock}.`);
    }
    await removeStale(lock, held, staleMs);
    await delay(RETRY_MS * Math.random());
  }
};

/**
 * Runs a task while no other process runs one for the same path.
 * @param path the file to be changed; the lock is `<path>.lock`, next to the target of a symbolic link
 * @param task awaits `confirm` right before it makes its change; `confirm` rejects if another process has taken over
 * the lock
 * @param options.staleMs time after which a lock that was not touched is stale
 * @param options.wait whether to wait if another process holds the lock, which suits short tasks; otherwise the call
 * rejects
 * @throws FileLockError
 */
export const withFileLock = async <T>(
  path: string,
  task: (confirm: () => Promise<void>) => Promise<T>,
  { staleMs = STALE_MS, wait = true }: { staleMs?: number; wait?: boolean } = {},
): Promise<T> => {
  const lock = `${await linkTarget(path)}.lock`;
  const content = `${process.pid} ${hostname()} ${randomUUID()}`;
  await (wait ? waitFor : takeOrRefuse)(lock, content, staleMs);
  const touch = (): void => void utimes(lock, new Date(), new Date()).catch(() => undefined);
  const timer = setInterval(touch, staleMs / 4).unref();
  try {
    return await task(async () => {
      if ((await read(lock)) === content) return;
      throw new FileLockError(
        `Another process took over the lock ${lock}, since this process was suspended for too long.`,
      );
    });
  } finally {
    clearInterval(timer);
    if ((await read(lock)) === content) await remove(lock);
  }
};
