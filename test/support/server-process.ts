/**
 * Starts servers for tests. When the test process ends, even by SIGKILL, the server is killed and its temporary folder
 * is removed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface Server {
  readonly url: string;
  readonly port: number;
  /** The file `stderr` in this temporary folder contains the standard error of the process. */
  readonly folder: string;
  readonly pid: number;
  stop(): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Kills the process if it is running, and starts it with the same port, folder and arguments. */
  restart(): Promise<void>;
  /** After SIGSTOP, connections stay open, but requests get no response until `resume`. */
  freeze(): void;
  resume(): void;
}

/** Freezes the server during the task, and resumes it even if the task fails. */
export const whileFrozen = async <T>(server: Pick<Server, 'freeze' | 'resume'>, task: () => Promise<T>): Promise<T> => {
  server.freeze();
  try {
    return await task();
  } finally {
    server.resume();
  }
};

interface ServerSpec {
  readonly name: string;
  readonly program: string;
  args(port: number, folder: string): readonly string[];
  env?(port: number): Readonly<Record<string, string>>;
  url(port: number): string;
  ready(port: number): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;

/**
 * The ports are below the ephemeral range. An outgoing connection could take an ephemeral port before the server
 * starts.
 */
const PORTS = [10_000, 32_768] as const;

export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(...PORTS);
    const probe = createServer().listen(port, '127.0.0.1');
    try {
      await once(probe, 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
};

/**
 * Starts a shell that waits for the end of this process. The standard input of the shell then ends, and the shell kills
 * the server and removes the folder. The shell runs in its own session, so that Ctrl-C does not stop it.
 */
const watch = (folder: string): ChildProcess => {
  const script = 'cat >/dev/null; [ -f "$1/pid" ] && kill -9 "$(cat "$1/pid")" 2>/dev/null; rm -rf "$1"';
  const shell = spawn('sh', ['-c', script, 'sh', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  shell.unref();
  (shell.stdin as Socket).unref();
  return shell;
};

export const startServer = async (spec: ServerSpec): Promise<Server> => {
  const folder = await mkdtemp(join(tmpdir(), `metro-forecast-${spec.name}-`));
  const pidFile = join(folder, 'pid');
  const watcher = watch(folder);
  const port = await freePort();
  let child: ChildProcess;

  const start = async () => {
    const stderr = openSync(join(folder, 'stderr'), 'a');
    child = spawn(spec.program, spec.args(port, folder), {
      cwd: folder,
      env: { ...process.env, ...spec.env?.(port) },
      stdio: ['ignore', 'ignore', stderr],
      detached: true,
    });
    closeSync(stderr);
    child.unref();
    let failure: Error | undefined;
    child.once('error', (error) => {
      failure = error;
    });
    if (child.pid) writeFileSync(pidFile, String(child.pid));
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      try {
        return await spec.ready(port);
      } catch (cause) {
        const ended = failure !== undefined || child.exitCode !== null || child.signalCode !== null;
        if (ended || Date.now() > deadline) throw startError(spec, folder, failure ?? cause);
        await delay(25);
      }
    }
  };

  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
    rmSync(pidFile, { force: true });
  };

  const stop = async () => {
    if (watcher.exitCode !== null) return;
    watcher.ref();
    const gone = once(watcher, 'exit');
    watcher.stdin?.end();
    await gone;
  };

  await start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });

  return {
    url: spec.url(port),
    port,
    folder,
    get pid() {
      return child.pid as number;
    },
    stop,
    kill,
    restart: async () => {
      await kill();
      await start();
    },
    freeze: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
};

const startError = (spec: ServerSpec, folder: string, cause: unknown): Error => {
  const log = ['log', 'stderr'].map((name) => lastLines(join(folder, name))).join('\n');
  return new Error(`${spec.name} (${spec.program}) did not start.\n${log}`, { cause });
};

const lastLines = (file: string): string => {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').slice(-15).join('\n');
  } catch {
    // The process ended before it wrote the file, or the watcher has already removed the file.
    return '';
  }
};
