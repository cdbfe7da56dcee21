/** Lets one process at a time change a file, by a lock file beside it that goes stale after a crash. */
import { randomUUID } from 'node:crypto';
import { realpath, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { readRegular, unlessMissing } from './regular.js';

/** A holder that has not finished after this long counts as gone. */
const STALE_MS = 10_000;
const RETRY_MS = 20;

export class FileLockError extends Error {
  override readonly name = 'FileLockError';
}

const read = (path: string): Promise<string | undefined> => readRegular(path).catch(unlessMissing);

/** Creates the file unless it is there. */
const create = async (path: string, content: string): Promise<boolean> => {
  try {
    await writeFile(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    // On a full disk the file exists now, and is empty.
    if ((error as NodeJS.ErrnoException).syscall === 'write') await unlink(path).catch(unlessMissing);
    throw error;
  }
};

/** Whether the holder was a process of this machine that has ended. */
const holderEnded = (content: string): boolean => {
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
 * Removes a stale lock. Of two processes that find it stale, the slower must not remove the lock that the faster has
 * taken meanwhile, so only one at a time may remove, after checking again.
 */
const remove = async (lock: string, content: string, staleMs: number): Promise<void> => {
  const guard = `${lock}.break`;
  if (!(await create(guard, ''))) {
    const age = Date.now() - ((await stat(guard).catch(unlessMissing))?.mtimeMs ?? Date.now());
    // The process that held the guard ended within the few system calls below.
    if (age > staleMs) await unlink(guard).catch(unlessMissing);
    return;
  }
  try {
    if ((await read(lock)) === content) await unlink(lock).catch(unlessMissing);
  } finally {
    await unlink(guard).catch(unlessMissing);
  }
};

/** Waits for the lock; a holder seen unchanged for too long, by our own clock, is taken for gone. */
const waitFor = async (lock: string, content: string, staleMs: number): Promise<void> => {
  let seen: string | undefined;
  let since = performance.now();
  while (!(await create(lock, content))) {
    const held = await read(lock);
    if (held !== seen) {
      seen = held;
      since = performance.now();
    }
    if (held !== undefined && (holderEnded(held) || performance.now() - since > staleMs))
      await remove(lock, held, staleMs);
    else await delay(RETRY_MS * (0.5 + Math.random()));
  }
};

/** Takes the lock at once; a holder that has given no sign of life for too long is taken for gone. */
const takeOrRefuse = async (lock: string, content: string, staleMs: number): Promise<void> => {
  while (!(await create(lock, content))) {
    const held = await read(lock);
    const modified = (await stat(lock).catch(unlessMissing))?.mtimeMs;
    if (held === undefined || modified === undefined) continue;
    if (!holderEnded(held) && Date.now() - modified <= staleMs) {
      const [pid, host] = held.split(' ');
      throw new FileLockError(`Process ${pid} on ${host} is at work there. If it has ended, remove ${lock}.`);
    }
    await remove(lock, held, staleMs);
    await delay(RETRY_MS * Math.random());
  }
};

/**
 * Runs the task while no other process runs one for the same path.
 * @param path of the file to be changed; the lock is `<path>.lock` beside it, or beside what a symbolic link points to
 * @param task awaits `confirm` right before it makes its change: a `FileLockError` if the lock was taken over meanwhile
 * @param options.staleMs after how long a holder that has not finished, or given no sign of life, counts as gone
 * @param options.wait whether to wait for another holder, as short tasks do; else it is a `FileLockError`
 */
export const withFileLock = async <T>(
  path: string,
  task: (confirm: () => Promise<void>) => Promise<T>,
  { staleMs = STALE_MS, wait = true }: { staleMs?: number; wait?: boolean } = {},
): Promise<T> => {
  const lock = `${await realpath(path).catch(() => path)}.lock`;
  const content = `${process.pid} ${hostname()} ${randomUUID()}`;
  await (wait ? waitFor : takeOrRefuse)(lock, content, staleMs);
  const giveSign = (): void => void utimes(lock, new Date(), new Date()).catch(() => undefined);
  const signs = setInterval(giveSign, staleMs / 4).unref();
  try {
    return await task(async () => {
      if ((await read(lock)) === content) return;
      throw new FileLockError(`The lock ${lock} was taken over by another process, since this one stood still.`);
    });
  } finally {
    clearInterval(signs);
    if ((await read(lock)) === content) await unlink(lock).catch(unlessMissing);
  }
};
