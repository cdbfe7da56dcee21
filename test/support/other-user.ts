/** Tests of file owners and permissions need a second user. Only root can run processes as another user. */
import { execFile } from 'node:child_process';
import { chown, stat } from 'node:fs/promises';
import type { Context } from 'mocha';
import { skip } from './skip.js';

export const OTHER_USER = { uid: 65534, gid: 65534 };

export const needsRoot = (context: Context): void => {
  if (process.getuid?.() !== 0) skip(context, 'only root can act as another user');
};

export const giveAway = (path: string): Promise<void> => chown(path, OTHER_USER.uid, OTHER_USER.gid);

export const ownerOf = async (path: string): Promise<string> => {
  const { uid, gid, mode } = await stat(path);
  return `${uid}:${gid} ${(mode & 0o777).toString(8)}`;
};

export const runAsOther = (args: readonly string[]): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { ...OTHER_USER, cwd: '/', timeout: 30_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? -1);
      resolve({ code, output: stdout + stderr });
    });
  });
