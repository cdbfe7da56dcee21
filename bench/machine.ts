/** Describes the machine that figures were measured on. */
import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';

const firstLine = (program: string, ...args: string[]): string => {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\n')[0] ?? '';
  } catch (error) {
    // wrk answers `-v` and exits with 1.
    return String((error as { stdout?: string }).stdout ?? '').split('\n')[0] ?? '';
  }
};

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly wrk: string;
  /** Whether idle cores were kept awake (see `idle-cores.ts`). */
  readonly awake: boolean;
}

export const describeMachine = (awake = false): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  system: `${type()} ${release()}`,
  node: process.version,
  wrk: firstLine('wrk', '-v').replace(/ Copyright.*/, ''),
  awake,
});

export const machineLine = ({ cpu, cores, memoryGiB, system, node, wrk, awake }: Machine): string =>
  `${cores} cores of ${cpu}, ${awake ? 'kept awake' : 'asleep when idle'}, ${memoryGiB} GiB, ${system}, Node ${node}, ${wrk}`;
