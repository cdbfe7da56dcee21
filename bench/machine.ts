import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../core/errors.js';
import { packageRoot } from '../core/util/package.js';
import { onPath } from '../test/support/binaries.js';

/** @throws OperatorError that lists everything that is missing */
export const checkMachine = (): void => {
  const missing: string[] = [];
  if (process.platform !== 'linux') missing.push('Linux: processes are bound to cores and measured through /proc');
  if (cpus().length < 2) missing.push('two cores: one for the server, one for the load');
  if (!onPath('taskset')) missing.push('taskset: apt-get install util-linux');
  if (!onPath('wrk')) missing.push('wrk: apt-get install wrk');
  if (missing.length > 0) throw new OperatorError('The benchmark needs', missing);
};

export const installContenders = (): void => {
  const folder = join(packageRoot, 'bench');
  if (existsSync(join(folder, 'node_modules/fastify'))) return;
  process.stderr.write(`Installing the packages of the contenders into ${folder} ...\n`);
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
};

export const describeMachine = () => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  system: `${type()} ${release()}`,
  node: process.version,
  wrk: (spawnSync('wrk', ['-v'], { encoding: 'utf8' }).stdout ?? '').split('\n')[0]!.replace(/ Copyright.*/, ''),
});

export type Machine = ReturnType<typeof describeMachine>;

export const machineLine = ({ cpu, cores, memoryGiB, system, node, wrk }: Machine): string =>
  `${cores} cores of ${cpu}, ${memoryGiB} GiB, ${system}, Node ${node}, ${wrk}`;
