/** What tells that files were changed or replaced, without reading them. */
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFEST_FILE } from '../../core/dataset/manifest.js';

const stampOfFile = async (path: string): Promise<string> => {
  try {
    const [target, { dev, ino, size, mtimeNs, ctimeNs }] = await Promise.all([
      realpath(path),
      stat(path, { bigint: true }),
    ]);
    return [target, dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return `${(error as NodeJS.ErrnoException).code}`;
  }
};

/**
 * The state of the manifest and of these files. It differs after a change in place, a rename, a swap of a
 * symbolic link anywhere in the path, and on bind mounts and network file systems, which send no notifications.
 */
export const stampOf = async (directory: string, files: readonly string[]): Promise<string> => {
  const stamps = await Promise.all([MANIFEST_FILE, ...files].map((file) => stampOfFile(join(directory, file))));
  return stamps.join('\n');
};
