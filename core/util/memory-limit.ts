import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';

/** The folders and limit files of cgroup versions 1 and 2. Some systems mount version 2 in a subfolder. */
const V1 = ['sys/fs/cgroup/memory', 'memory.limit_in_bytes'] as const;
const V2 = [
  ['sys/fs/cgroup', 'memory.max'],
  ['sys/fs/cgroup/unified', 'memory.max'],
] as const;

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** In a container, the cgroup path might not exist, but the root cgroup does. */
const withParents = (path: string): string[] =>
  path === '/' || path === '.' ? ['/'] : [path, ...withParents(dirname(path))];

const groupLimits = (root: string): number[] =>
  read(join(root, 'proc/self/cgroup'))
    .split('\n')
    .flatMap((line) => {
      const [id, controllers = '', ...rest] = line.split(':');
      const places = id === '0' && controllers === '' ? V2 : controllers.split(',').includes('memory') ? [V1] : [];
      const groups = withParents(rest.join(':'));
      return places.flatMap(([folder, file]) => groups.map((group) => read(join(root, folder, group, file)).trim()));
    })
    // Without a limit, the cgroup file contains "max" or, in version 1, a number larger than any real memory size.
    .filter((text) => /^\d+$/.test(text))
    .map(Number);

/** The memory limits of parent cgroups apply as well. */
export const memoryLimit = (root = '/'): number => Math.min(totalmem(), ...groupLimits(root));
