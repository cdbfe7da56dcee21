/** What a run needs on the machine: named, with how to get it, before anything is started. */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../core/errors.js';
import { packageRoot } from '../core/util/package.js';
import { onPath } from '../test/support/binaries.js';
import { packagesInstalled } from './contenders.js';

/** @throws OperatorError with everything that is missing */
export const checkPrerequisites = (): void => {
  const missing: string[] = [];
  if (process.platform !== 'linux') missing.push('Linux: processes are bound to cores and measured through /proc');
  if (cpus().length < 2) missing.push('two cores: one for the server, one for the load');
  if (!onPath('taskset')) missing.push('taskset: apt-get install util-linux');
  if (!onPath('wrk')) missing.push('wrk: apt-get install wrk');
  if (missing.length > 0) throw new OperatorError('The benchmark needs', missing);
};

/** Installs the contenders' packages, which are none of the product's, on the first run. */
export const installContenders = (): void => {
  if (packagesInstalled()) return;
  const folder = join(packageRoot, 'bench');
  process.stderr.write(`Installing the contenders' packages into ${folder} ...\n`);
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
};
