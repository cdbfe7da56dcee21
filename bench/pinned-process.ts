/** Processes bound to cores: how they are started, measured and ended. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { yieldToEventLoop } from '../cli/engine.js';

/** The server under test has the first core; what loads it, and its Redis and MongoDB, have the second. */
export const SERVER_CORE = '0';
export const LOAD_CORE = '1';

export const bindToCore = (core: string, pid: number): void => {
  execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' });
};

/** Binds this process, too, and lets what loads the servers go before its other threads: it collects garbage as well. */
export const stayOnLoadCore = (): void => {
  bindToCore(LOAD_CORE, process.pid);
  yieldToEventLoop(0);
};

/** No variable of the caller's may configure what is measured. */
const environment = { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_ENV: 'production' };

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * @param cores as `taskset -c` takes them
 * @param log where standard error goes: a server's goes nowhere, since writing it is part of its work and keeping it
 * is not
 */
export const spawnPinned = (cores: string, command: readonly string[], log: 'ignore' | 'pipe'): ChildProcess => {
  const child = spawn('taskset', ['-c', cores, ...command], { stdio: ['ignore', 'pipe', log], env: environment });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
};

export const stopProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await gone;
  clearTimeout(timer);
};

/** Runs a program to its end. @returns what it printed */
export const runPinned = async (cores: string, command: readonly string[]): Promise<string> => {
  const child = spawnPinned(cores, command, 'pipe');
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) {
    throw new Error(`${command.slice(0, 3).join(' ')} ended with ${code}:\n${Buffer.concat(errors).toString().trim()}`);
  }
  return Buffer.concat(output).toString();
};

/** A process and all that it has started. */
const family = (pid: number): number[] => {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(family)];
};

/** Resident memory in MiB, with that of its children. */
export const residentMiB = (pid: number): number =>
  family(pid).reduce((sum, id) => {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0;
    return sum + Number(kib) / 1024;
  }, 0);

const TICKS_PER_SECOND = 100;

/** User and system time in seconds: the process's own, or that of the children that it awaited. */
const secondsOf = (id: number | 'self', whose: 'own' | 'awaited'): number => {
  // The second field, the program's name, may hold spaces: what follows it is counted from its bracket.
  const fields = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]!.split(' ');
  const at = whose === 'own' ? 11 : 13;
  return (Number(fields[at]) + Number(fields[at + 1])) / TICKS_PER_SECOND;
};

/** Processor time used so far, in seconds, with that of its children. */
export const cpuSeconds = (pid: number): number => family(pid).reduce((sum, id) => sum + secondsOf(id, 'own'), 0);

/** Processor time, in seconds, of all that this process started and that has ended. */
export const endedCpuSeconds = (): number => secondsOf('self', 'awaited');
