/** A server under test: started on its core, awaited until it answers, ended. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { SERVER_CORE, spawnPinned, stopProcess } from './pinned-process.js';

export interface ServerCommand {
  readonly command: readonly string[];
  /** Where it will listen; absent: it says so in the first line that it prints. */
  readonly origin?: string;
  /** A path that answers 200 once the data is there. */
  readonly probe: string;
  readonly key: string;
  readonly cores?: string;
}

export interface RunningServer {
  readonly origin: string;
  readonly pid: number;
  /** From the start of the process to its first answer. */
  readonly startMs: number;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 300_000;

const announcedOrigin = async (child: ChildProcess): Promise<string> => {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /https?:\/\/\S+/.exec(line)?.[0];
    if (url) return new URL(url).origin;
  }
  throw new Error('It ended before it listened.');
};

/** @throws with the command, to be tried by hand, when it does not answer */
export const startServer = async (options: ServerCommand): Promise<RunningServer> => {
  const { command, probe, key, cores = SERVER_CORE } = options;
  const began = performance.now();
  const child = spawnPinned(cores, command, 'ignore');
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`It ended with ${code}.`);
  });
  gone.catch(() => undefined);
  const answer = async (): Promise<string> => {
    const origin = options.origin ?? (await announcedOrigin(child));
    child.stdout?.resume();
    for (;;) {
      const response = await fetch(`${origin}${probe}`, { headers: { Authorization: `Bearer ${key}` } }).catch(
        () => null,
      );
      await response?.arrayBuffer();
      if (response?.ok) return origin;
      if (performance.now() - began > START_TIMEOUT_MS) throw new Error(`It answers ${response?.status ?? 'nothing'}.`);
      await delay(5);
    }
  };
  try {
    const origin = await Promise.race([answer(), gone]);
    return { origin, pid: child.pid!, startMs: performance.now() - began, stop: () => stopProcess(child) };
  } catch (cause) {
    await stopProcess(child);
    throw new Error(`${command.join(' ')} did not start: ${await lastWords(cores, command)}`, { cause });
  }
};

const LAST_WORDS_MS = 20_000;

/** What a server that did not start says on standard error, which is not kept while it is measured: it is tried again. */
const lastWords = async (cores: string, command: readonly string[]): Promise<string> => {
  const child = spawnPinned(cores, command, 'pipe');
  const words: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => words.push(chunk));
  child.stdout?.resume();
  const timer = setTimeout(() => child.kill('SIGKILL'), LAST_WORDS_MS);
  await once(child, 'close');
  clearTimeout(timer);
  return Buffer.concat(words).toString().trim().slice(-2000) || 'it says nothing.';
};
