/**
 * A lock that allows only one process at a time to change a file. If that process crashes, another one takes over the
 * lock.
 */
import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { open, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileErrorReason } from './error-reason.js';
import { readRegular, unlessMissing } from './read-file.js';
import { linkTarget, ownNewFile } from './write-atomic.js';

const STALE_MS = 10_000;
/**
 * The `staleMs` for publications, which can block the process for seconds. The adapter contract allows 50 seconds until
 * the lock of a killed process expires.
 */
export const PUBLICATION_STALE_MS = 45_000;
const RETRY_MS = 20;
const MAX_LOCK_BYTES = 4096;

export class FileLockError extends Error {
  override readonly name = 'FileLockError';
}

/** Adds the path of the lock file to an error, because callers report only the path of the locked file. */
const failing =
  (path: string, what: 'created' | 'read' | 'removed') =>
  (error: NodeJS.ErrnoException): never => {
    throw Object.assign(error, { reason: `its lock file ${path} cannot be ${what}: ${fileErrorReason(error)}` });
  };

const read = (path: string): Promise<string | undefined> =>
  readRegular(path, MAX_LOCK_BYTES).catch(unlessMissing).catch(failing(path, 'read'));

const remove = (path: string): Promise<void> => unlink(path).catch(unlessMissing).catch(failing(path, 'removed'));

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
    // If the disk is full, the lock file can be created but not written. The empty lock file is removed.
    if (syscall !== 'open') await unlink(path).catch(unlessMissing);
    if (code === 'ENOENT') throw error;
    return failing(path, 'created')(error as NodeJS.ErrnoException);
  }
};

/**
 * A process writes its id right after it creates the lock file. If the lock file is still empty after this time, the
 * process has died.
 */
const EMPTY_MS = 1000;

/** Containers can have the same host name but different process ids. */
export const pidNamespace = (): string => {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return 'none';
  }
};

const holderEnded = (content: string, age: number): boolean => {
  if (content === '') return age > EMPTY_MS;
  const [pid, host, namespace] = content.split(' ');
  if (host !== hostname() || namespace !== pidNamespace() || !/^\d+$/.test(pid ?? '')) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
};

/** Two processes can find the same stale lock. The slower process must not remove the new lock of the faster one. */
const removeStale = async (lock: string, content: string, staleMs: number): Promise<void> => {
  const guard = `${lock}.break`;
  if (!(await create(guard, ''))) {
    const age = Date.now() - ((await stat(guard).catch(unlessMissing))?.mtimeMs ?? Date.now());
    if (age > staleMs) await remove(guard);
    return;
  }
  try {
    if ((await read(lock)) === content) await remove(lock);
  } finally {
    await remove(guard);
  }
};

/**
 * Takes the lock. Takes over a held lock if it has not been renewed for `staleMs`, or if its process has ended.
 * @throws FileLockError if the lock is held, unless `wait` is set
 */
const take = async (lock: string, content: string, { staleMs, wait }: Required<LockOptions>): Promise<void> => {
  let seen = '';
  let seenAt = 0;
  while (!(await create(lock, content))) {
    const held = await read(lock);
    const modified = (await stat(lock).catch(unlessMissing))?.mtimeMs;
    if (held === undefined || modified === undefined) continue;
    const state = `${held} ${modified}`;
    if (state !== seen) [seen, seenAt] = [state, performance.now()];
    // The lock might belong to another machine, whose clock can differ. While waiting, use the time since this process
    // first saw the lock in its current state.
    const age = wait ? performance.now() - seenAt : Date.now() - modified;
    if (age > staleMs || holderEnded(held, age)) await removeStale(lock, held, staleMs);
    else if (held !== '' && !wait) {
      const [pid, host] = held.split(' ');
      throw new FileLockError(`Process ${pid} on ${host} holds the lock. If that process has exited, remove ${lock}.`);
    }
    await delay(RETRY_MS * (0.5 + Math.random()));
  }
};

interface LockOptions {
  /** A lock that has not been renewed within this time can be taken over. */
  readonly staleMs?: number;
  /**
   * If true, the call waits until the lock is free. Use this for short tasks. If false, the call rejects immediately.
   */
  readonly wait?: boolean;
}

/**
 * Runs a task while holding a lock on a file. During the task, other calls for the same file wait or fail.
 * @param path the file to change; the lock is `<path>.lock`, or next to the target if the path is a symbolic link
 * @param task must await `confirm` immediately before it changes the file; `confirm` rejects if another process has
 *   taken over the lock
 * @throws FileLockError if another process holds the lock or has taken it over
 */
export const withFileLock = async <T>(
  path: string,
  task: (confirm: () => Promise<void>) => Promise<T>,
  { staleMs = STALE_MS, wait = true }: LockOptions = {},
): Promise<T> => {
  const lock = `${await linkTarget(path)}.lock`;
  const content = `${process.pid} ${hostname()} ${pidNamespace()} ${randomUUID()}`;
  await take(lock, content, { staleMs, wait });
  const touch = (): void => void utimes(lock, new Date(), new Date()).catch(() => undefined);
  const timer = setInterval(touch, staleMs / 4).unref();
  try {
    return await task(async () => {
      if ((await read(lock)) === content) return;
      throw new FileLockError(
        `Another process took over the lock ${lock}, because this process was suspended for too long.`,
      );
    });
  } finally {
    clearInterval(timer);
    if ((await read(lock)) === content) await remove(lock);
  }
};
