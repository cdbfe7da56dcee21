/** Reads the folder of a store while the store may change it. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Resolves with the sizes of all files in bytes, by path. */
export const sizesOf = async (folder: string): Promise<ReadonlyMap<string, number>> => {
  const sizes = new Map<string, number>();
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) for (const [each, size] of await sizesOf(path)) sizes.set(each, size);
    else {
      const found = await stat(path).catch(() => undefined);
      if (found) sizes.set(path, found.size);
    }
  }
  return sizes;
};
