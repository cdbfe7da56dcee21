import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { packageRoot } from '../../core/util/package.js';
import { commandArgs } from './command-process.js';

export interface Service {
  readonly process: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exited: Promise<[code: number | null, signal: string | null]>;
}

export const spawnCommand = (args: readonly string[], env: Readonly<Record<string, string>>): Service => {
  const child = spawn(process.execPath, commandArgs(args), {
    cwd: packageRoot,
    env: { PATH: process.env['PATH'], ...env },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (chunk) => (output[name] += chunk));
  return { process: child, output, exited: once(child, 'exit') as Service['exited'] };
};

export const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

export const killAll = async (services: Service[]): Promise<void> => {
  for (const { process, exited } of services.splice(0)) {
    if (process.exitCode === null && process.signalCode === null) process.kill('SIGKILL');
    await exited;
  }
};
