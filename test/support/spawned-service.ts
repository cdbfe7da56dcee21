import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../../core/util/package.js';
import { commandArgs } from './command-process.js';

export interface Service {
  readonly process: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exited: Promise<[code: number | null, signal: string | null]>;
}

/** @param env variables in addition to PATH */
export const spawnCommand = (args: readonly string[], env: Readonly<Record<string, string>>): Service => {
  const child = spawn(process.execPath, commandArgs(args), {
    cwd: packageRoot,
    env: { PATH: process.env['PATH'], ...env },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (chunk) => (output[name] += chunk));
  return { process: child, output, exited: once(child, 'exit') as Service['exited'] };
};

/** Calls `find` until the result is not undefined, and resolves with the result. */
export const until = async <T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> => {
  for (let attempts = 0; attempts < 1800; attempts++) {
    const found = await find();
    if (found !== undefined) return found;
    await delay(20);
  }
  throw new Error('The condition did not become true in time.');
};

export const killAll = async (services: Service[]): Promise<void> => {
  for (const { process, exited } of services.splice(0)) {
    if (process.exitCode === null && process.signalCode === null) process.kill('SIGKILL');
    await exited;
  }
};
