/** Finds files that other users of the machine can read or change, as ssh does for its keys. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { linkTarget } from './write-atomic.js';

const GROUP_OR_OTHERS_WRITE = 0o022;
const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;
/** In a folder with this bit, only the owner of a file may replace it. */
const STICKY = 0o1000;

const octal = (mode: number): string => `mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`;

const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

/**
 * @param isSecret whether other users must not read it
 * @returns sentences with the command that helps; none for a missing file, and on Windows
 */
export const loosePermissions = async (path: string, isSecret: boolean): Promise<readonly string[]> => {
  if (process.platform === 'win32') return [];
  const file = await linkTarget(path).catch(() => path);
  const found = await stat(file).catch(() => undefined);
  if (!found) return [];
  const sentences: string[] = [];
  const isWritable = (found.mode & GROUP_OR_OTHERS_WRITE) !== 0;
  const isReadable = isSecret && (found.mode & OTHERS_READ) !== 0;
  if (isWritable || isReadable) {
    const what = [...(isReadable ? ['read'] : []), ...(isWritable ? ['change'] : [])].join(' and ');
    const change = isSecret ? 'g-w,o-rwx' : 'g-w,o-w';
    sentences.push(`Other users can ${what} ${path} (${octal(found.mode)}): run chmod ${change} ${quoted(file)}`);
  }
  const folder = dirname(file);
  const { mode } = await stat(folder);
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    sentences.push(
      `Other users can replace ${path}, since they can change its folder: run chmod o-w ${quoted(folder)}`,
    );
  }
  return sentences;
};
