import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { SERVER_CORE, spawnBound } from './process.js';

export interface ServerCommand {
  /** The program must print its URL to standard output. */
  readonly command: readonly string[];
  readonly probe: string;
  readonly key: string;
  /**
   * If true, the process gets a message channel, and its standard error is read. Otherwise, standard error is
   * discarded.
   */
  readonly watched?: boolean;
}

export interface RunningServer {
  readonly origin: string;
  readonly port: number;
  readonly process: ChildProcess;
  readonly pid: number;
  /** Rejects when the server exits. The message contains the end of standard error. */
  readonly exited: Promise<never>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
const ERROR_LENGTH = 2000;

const printedOrigin = async (child: ChildProcess): Promise<string> => {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /https?:\/\/\S+/.exec(line)?.[0];
    if (url) return new URL(url).origin;
  }
  throw new Error('it exited before it listened');
};

const waitUntilReady = async (child: ChildProcess, { probe, key }: ServerCommand): Promise<string> => {
  const until = performance.now() + START_TIMEOUT_MS;
  const origin = await printedOrigin(child);
  child.stdout?.resume();
  for (;;) {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(origin + probe, { headers }).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok) return origin;
    if (performance.now() > until) throw new Error(`${probe} responds with ${response?.status ?? 'nothing'}`);
    await delay(5);
  }
};

export const startServer = async (options: ServerCommand): Promise<RunningServer> => {
  const { command, watched = false } = options;
  const child = spawnBound(SERVER_CORE, command, watched ? 'pipe' : 'ignore', watched);
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-ERROR_LENGTH);
  });
  const exited = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`The server exited with ${code ?? signal}. ${errors}`);
  });
  exited.catch(() => undefined);
  try {
    const origin = await Promise.race([waitUntilReady(child, options), exited]);
    return {
      origin,
      port: Number(new URL(origin).port),
      process: child,
      pid: child.pid!,
      exited,
      async stop() {
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
        child.kill('SIGTERM');
        const hasExited = child.exitCode !== null || child.signalCode !== null;
        const [code] = hasExited ? [child.exitCode] : await once(child, 'exit');
        clearTimeout(timer);
        if (code !== 0) throw new Error(`The server exited with ${code ?? 'a signal'} instead of 0. ${errors}`);
      },
    };
  } catch (cause) {
    child.kill('SIGKILL');
    throw new Error(`${command.join(' ')} did not start. ${errors}`, { cause });
  }
};
