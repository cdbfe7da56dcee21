import { existsSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pathResolver } from '../../core/app/load-modules.js';
import { type CheckContext, type Finding, failed } from './finding.js';

/** Publishing a dataset or storing a key writes a new file. A disk with less free space than this counts as full. */
const LEAST_BYTES = 1024 * 1024;

const existing = (path: string): string => (existsSync(path) ? path : existing(dirname(path)));

/** Reports a disk as full if it contains the dataset or the keys and has less than `LEAST_BYTES` of free space. */
export async function* checkDisks({ loaded: { config, folder } }: CheckContext): AsyncGenerator<Finding> {
  const paths = [config.adapter, config.auth.keys].map(({ options }) => options['path']);
  const folders = paths.filter((path) => typeof path === 'string').map((path) => existing(pathResolver(folder)(path)));
  for (const path of new Set(folders)) {
    const isWritable = await access(path, constants.W_OK).then(
      () => true,
      () => false,
    );
    // Read-only file systems have no free space. Some file systems do not report their size.
    const disk = isWritable ? await statfs(path).catch(() => undefined) : undefined;
    if (disk && disk.blocks > 0 && disk.bavail * disk.bsize < LEAST_BYTES)
      yield failed('disk', `the disk of ${path} is full`, 'Free at least 1 MiB, or use a different disk.');
  }
}
