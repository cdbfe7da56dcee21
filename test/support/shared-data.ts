/** Finds real public data for tests. The data is not part of the repository. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { packageRoot } from '../../core/util/package.js';
import { skip } from './skip.js';

const directory = join(packageRoot, '..', 'shared', 'data');

/** Returns the directory with FHFA and FRED files next to the repository. Undefined if there is none. */
export const sharedData = (): string | undefined => (existsSync(directory) ? directory : undefined);

/** Returns the directory for a test or hook that needs it. Skips the test if there is none. */
export const needSharedData = (context: Context): string => {
  const found = sharedData();
  return found ?? skip(context, `real data is absent, looked for ${directory}`);
};
