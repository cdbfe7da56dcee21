/** A 64 KiB in-memory file system for tests that fill a disk. */
import { execFileSync } from 'node:child_process';
import type { Context } from 'mocha';
import { skip } from './skip.js';

/** Mounts the disk at a folder while the task runs. */
export const smallDisk = async (context: Context, folder: string, task: () => Promise<void>): Promise<void> => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', folder], { stdio: 'ignore' });
  } catch {
    skip(context, 'file systems cannot be mounted here');
  }
  try {
    await task();
  } finally {
    execFileSync('umount', [folder]);
  }
};
