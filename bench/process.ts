import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { yieldToEventLoop } from '../cli/engine.js';
import { type Server, startRedis } from '../test/support/services.js';

/** The measured server has the first core for itself. The load generator, Redis and MongoDB share the second core. */
export const SERVER_CORE = '0';
const LOAD_CORE = '1';

const bindToCore = (core: string, pid: number): void => {
  execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' });
};

/** The garbage collector of this process gets a lower priority than the load generator. */
export const stayOnLoadCore = (): void => {
  bindToCore(LOAD_CORE, process.pid);
  yieldToEventLoop(0);
};

/** Redis and MongoDB get real-time priority, so that they never wait for the load generator. */
export const bindStore = (pid: number): void => {
  bindToCore(LOAD_CORE, pid);
  try {
    execFileSync('chrt', ['--all-tasks', '--fifo', '--pid', '1', String(pid)], { stdio: 'ignore' });
  } catch {
    process.stderr.write('Run as root for accurate high percentiles; otherwise Redis waits for the load generator.\n');
  }
};

export const startBoundRedis = async (): Promise<Server> => {
  const redis = await startRedis();
  bindStore(redis.pid);
  return redis;
};

/**
 * Child processes inherit only these variables, so that the developer's environment cannot change the configuration of
 * a server.
 */
const environment = { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_ENV: 'production' };

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export const spawnBound = (
  core: string,
  command: readonly string[],
  stderr: 'ignore' | 'pipe',
  ipc = false,
): ChildProcess => {
  const stdio = ['ignore', 'pipe', stderr, ...(ipc ? (['ipc'] as const) : [])] as const;
  const child = spawn('taskset', ['-c', core, ...command], { stdio: [...stdio], env: environment });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
};

export const runLoad = async (command: readonly string[]): Promise<string> => {
  const child = spawnBound(LOAD_CORE, command, 'pipe');
  let [output, errors] = ['', ''];
  child.stdout!.on('data', (chunk) => (output += chunk));
  child.stderr!.on('data', (chunk) => (errors += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command.slice(0, 3).join(' ')} exited with ${code}:\n${errors.trim()}`);
  return output;
};

/** CPU time of a process with its threads and child processes, in seconds. */
export const cpuSeconds = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => {
      const read = (file: string) => readFileSync(`/proc/${pid}/task/${thread}/${file}`, 'utf8').split(' ');
      const children = read('children').filter(Boolean);
      return [Number(read('schedstat')[0]) / 1e9, ...children.map((child) => cpuSeconds(Number(child)))];
    })
    .reduce((sum, seconds) => sum + seconds);

/** CPU time of all child processes that have exited, in seconds. */
export const exitedCpuSeconds = (): number => {
  // The program name can contain spaces, so the line is split after the closing parenthesis. Fields 13 and 14 are
  // `cutime` and `cstime`, in clock ticks.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
};
