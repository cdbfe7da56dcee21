/** An in-memory file system of 64 KiB, for tests that fill a disk. */
import { execFileSync } from 'node:child_process';
import type { Context } from 'mocha';
import { skip } from './skip.js';

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
