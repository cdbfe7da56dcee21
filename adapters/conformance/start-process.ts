import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Dataset, type StorageAdapter, StorageError } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { COMMANDS, type Commands, type Request, type Response } from './commands.js';
import { failsWith, limitOf, within } from './expect.js';
import { type Obstacle, withoutProcess } from './obstacles.js';
import { LOCK_MS } from './time-limits.js';

const MAIN = fileURLToPath(new URL('./process-main.js', import.meta.url));
/**
 * Time limit of a call in milliseconds. A call can take up to `LOCK_MS` if it waits for the lock of a killed process.
 */
const CALL_MS = 60_000;
/** Pause before `publish()` is called again after a conflict, in milliseconds. */
const RETRY_MS = 500;
/** A time zone with an unusual offset (UTC+12:45, UTC+13:45 in summer), to catch stores that use local time. */
export const TIME_ZONE = 'Pacific/Chatham';

export interface OtherProcess extends Commands {
  /** Kills the process with SIGKILL, to simulate a crash. */
  kill(): Promise<void>;
  suspend(): void;
  resume(): void;
}

const startProcess = (file: string, name: string, onExit: () => void): OtherProcess => {
  const child: ChildProcess = fork(MAIN, [file, name], {
    env: { ...process.env, TZ: TIME_ZONE },
    // Unlike JSON, advanced serialization preserves dates and undefined fields.
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaints = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const waiting = new Map<number, PromiseWithResolvers>();
  child.on('message', ({ id, result, error, code }: Response) => {
    const { resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else {
      const message = `In the other process: ${error}`;
      reject(code ? new StorageError(code, message) : new Error(message));
    }
  });
  const exited = once(child, 'exit');
  void exited.then(([code, signal]) => {
    onExit();
    for (const { reject } of waiting.values()) {
      reject(new Error(`The other process, which imports ${file}, ended with ${signal ?? code}.\n${complaints}`));
    }
  });
  let last = 0;
  const call = (command: keyof Commands, ...given: unknown[]): Promise<never> => {
    const id = ++last;
    const response = new Promise<never>((resolve, reject) => {
      waiting.set(id, { resolve: resolve as (result: unknown) => void, reject });
      child.send({ id, command, given } satisfies Request, (error) => error && reject(error));
    });
    const responding = within(`the other process responds to "${command}"`, response, CALL_MS);
    // A process that does not respond is killed. Later tests then start another process.
    responding.catch(() => waiting.has(id) && child.kill('SIGKILL'));
    return responding;
  };
  const calls = Object.fromEntries(
    COMMANDS.map((command) => [command, (...given: unknown[]) => call(command, ...given)]),
  ) as unknown as Commands;
  return {
    ...calls,
    suspend: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await exited;
    },
  };
};

export interface Processes {
  /** The reason why another process cannot create the adapter, or false. */
  readonly obstacle: Obstacle;
  /** Returns the other process. Starts a process if there is none, or if it was killed. */
  running(): OtherProcess;
}

/** @param file the path of the file that calls `describeAdapter`, if known */
export const processesOf = (target: AdapterUnderTest, file: string | undefined): Processes => {
  let current: OtherProcess | undefined;
  after(() => current?.kill());
  return {
    obstacle: withoutProcess(target, file),
    running() {
      current ??= startProcess(file!, target.name, () => {
        current = undefined;
      });
      return current;
    },
  };
};

/** Until the lock of a killed process expires, `publish()` waits or rejects with `conflict`. */
export const publishesInTime = async (adapter: StorageAdapter, dataset: Dataset): Promise<void> => {
  const end = performance.now() + limitOf(LOCK_MS);
  while (performance.now() < end) {
    const [settled] = await Promise.allSettled([adapter.publish!(dataset)]);
    if (settled.status === 'fulfilled') return;
    await failsWith('conflict', () => Promise.reject(settled.reason));
    await delay(RETRY_MS);
  }
  assert.fail(`expected the lock of a killed process to expire within ${LOCK_MS} ms`);
};

interface PromiseWithResolvers {
  resolve(result: unknown): void;
  reject(error: Error): void;
}
