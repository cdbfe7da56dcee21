/** Real public data for tests, which is not part of the repository. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { packageRoot } from '../../core/util/package.js';
import { skip } from './skip.js';

const directory = join(packageRoot, '..', 'shared', 'data');

/** The directory of FHFA's and FRED's own files, beside the repository; undefined where it is absent. */
export const sharedData = (): string | undefined => (existsSync(directory) ? directory : undefined);

/** The directory, for a test or hook that needs it: skips it, with the reason, where it is absent. */
export const needSharedData = (context: Context): string => {
  const found = sharedData();
  return found ?? skip(context, `real data is absent, looked for ${directory}`);
};
