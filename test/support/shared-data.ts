import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { packageRoot } from '../../core/util/package.js';
import { skip } from './skip.js';

const directory = join(packageRoot, '..', 'shared', 'data');

const sharedData = (): string | undefined => (existsSync(directory) ? directory : undefined);

/** Skips the test if there is no directory with FHFA and FRED files next to the repository. */
export const needSharedData = (context: Context): string => {
  const found = sharedData();
  return found ?? skip(context, `real data is absent, looked for ${directory}`);
};
