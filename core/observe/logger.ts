/** Writes the log. Logging never blocks the event loop, even if the reader of the log is slow or has exited. */
import cluster from 'node:cluster';
import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Logger as PinoLogger, pino } from 'pino';
import type { Config } from '../config/schema.js';
import type { Logger } from '../contracts/runtime.js';
import { workerNumber } from '../util/is-worker.js';
import { loadPackage } from '../util/package.js';
import { printableData } from '../util/printable.js';

export const createLogger = ({ level, format }: Config['log']): Logger => {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const output = logOutput();
  const destination = isPretty ? prettyPrinter(output) : output;
  const number = workerNumber();
  const origin = { pid: process.pid, ...(number !== undefined && { worker: number }) };
  const children = new WeakCollection<PinoLogger>();
  const logger = pino(
    {
      level,
      base: origin,
      timestamp: isoTime,
      serializers: { err: describeError },
      onChild: (child) => children.add(child),
    },
    destination,
  );
  const info = `{"level":${logger.levels.values['info']}`;
  const base = `,${JSON.stringify(origin).slice(1, -1)},`;
  const infoJson = (members: string, message: string): void => {
    if (logger.isLevelEnabled('info')) destination.write(`${info}${isoTime()}${base}${members},"msg":"${message}"}\n`);
  };
  const setLevel = (to: string): void => {
    for (const each of [logger, ...children.values()]) each.level = to;
  };
  output.onRecovery = (lines) => logger.warn({ lines }, 'log lines were dropped: standard error was full or not read');
  const infoLine = (line: string): void => {
    if (logger.isLevelEnabled('info')) output.write(`${line}\n`);
  };
  return Object.assign(logger, { infoJson, infoLine, setLevel });
};

/** Holds objects until they are garbage-collected. A plugin can create a child logger for each request. */
class WeakCollection<T extends object> {
  readonly #references = new Set<WeakRef<T>>();
  readonly #registry = new FinalizationRegistry<WeakRef<T>>((reference) => this.#references.delete(reference));

  add(value: T): void {
    const reference = new WeakRef(value);
    this.#references.add(reference);
    this.#registry.register(value, reference);
  }

  *values(): Generator<T> {
    for (const reference of this.#references) {
      const value = reference.deref();
      if (value) yield value;
    }
  }
}

/** Like pino's error serializer, but without the cause if the message already contains the cause. */
const describeError = (error: unknown): unknown =>
  error instanceof Error ? { ...pino.stdSerializers.err(error), message: messageOf(error) } : error;

const messageOf = ({ message, cause }: Error, depth = 0): string => {
  const reason = cause instanceof Error && depth < MAX_CAUSES ? messageOf(cause, depth + 1) : '';
  return message.includes(reason) ? message : `${message}: ${reason}`;
};

const MAX_CAUSES = 10;

const prettyPrinter = (output: LogOutput) => {
  const { prettyFactory, isColorSupported } = loadPackage('pino-pretty') as typeof import('pino-pretty');
  const format = prettyFactory({
    colorize: isColorSupported,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
  });
  return { write: (line: string) => output.write(format(printableData(JSON.parse(line))) ?? '') };
};

let millisecond = 0;
let formatted = '';

/** Many log lines have the same timestamp, so it is formatted only once. */
const isoTime = (): string => {
  const now = Date.now();
  if (now !== millisecond) {
    millisecond = now;
    formatted = `,"time":"${new Date(now).toISOString()}"`;
  }
  return formatted;
};

interface LogOutputOptions {
  readonly maxWaiting?: number;
  readonly chunk?: number;
}

const MAX_WAITING = 4 * 1024 * 1024;
const CHUNK = 32 * 1024;
const WRITE_AFTER_MS = 250;
/**
 * Delay before writing to a full pipe again. After other errors, such as a full disk, the delay is `RETRY_FAILED_MS`.
 */
const RETRY_FULL_MS = 10;
const RETRY_FAILED_MS = 1000;

/**
 * Buffers log lines and writes them in Node's thread pool. The file descriptor must be non-blocking, because a blocked
 * thread would keep the process from exiting.
 */
export class LogOutput {
  readonly #fd: number;
  readonly #maxWaiting: number;
  readonly #chunk: number;
  #gathered = '';
  readonly #chunks: string[] = [];
  #waiting = 0;
  #current: Buffer | undefined;
  #currentSize = 0;
  #inFlight = false;
  #gatherTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];
  #dropped = 0;
  #reported = 0;
  /** Called when writing succeeds again, with the number of lines dropped in the meantime. */
  onRecovery: (dropped: number) => void = () => undefined;

  constructor(fd: number, { maxWaiting = MAX_WAITING, chunk = CHUNK }: LogOutputOptions = {}) {
    this.#fd = fd;
    this.#maxWaiting = maxWaiting;
    this.#chunk = chunk;
  }

  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    if (this.#waiting + line.length > this.#maxWaiting) {
      this.#dropped++;
      return;
    }
    if (this.#gathered.length + line.length > this.#chunk) this.#endChunk();
    this.#gathered += line;
    this.#waiting += line.length;
    this.#gatherTimer ??= setTimeout(() => this.#endChunk(), WRITE_AFTER_MS).unref();
  }

  async flush(deadlineMs: number): Promise<void> {
    this.#endChunk();
    if (this.#waiting === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadlineMs);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Writes the buffered log lines. Waits up to `deadlineMs` for a full pipe, and then drops the remaining lines. */
  flushSync(deadlineMs: number): void {
    clearTimeout(this.#gatherTimer);
    clearTimeout(this.#retryTimer);
    // Node completes a write in flight before the process exits, so its text is not written again.
    const started = this.#inFlight ? undefined : this.#current;
    const rest = Buffer.from([...this.#chunks.splice(0), this.#gathered].join(''));
    this.#gathered = '';
    this.#current = undefined;
    const deadline = performance.now() + deadlineMs;
    for (let bytes = started ? Buffer.concat([started, rest]) : rest; bytes.length > 0; ) {
      try {
        bytes = bytes.subarray(writeSync(this.#fd, bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > deadline) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_FULL_MS);
      }
    }
  }

  #endChunk(): void {
    clearTimeout(this.#gatherTimer);
    this.#gatherTimer = undefined;
    if (this.#gathered === '') return;
    this.#chunks.push(this.#gathered);
    this.#gathered = '';
    this.#writeNext();
  }

  #writeNext(): void {
    if (this.#inFlight || this.#retryTimer) return;
    if (!this.#current) {
      const text = this.#chunks.shift();
      if (text === undefined) {
        this.#onIdle();
        return;
      }
      this.#current = Buffer.from(text);
      this.#currentSize = text.length;
    }
    this.#inFlight = true;
    write(this.#fd, this.#current, (error, written) => this.#onWritten(error, written));
  }

  #onWritten(error: NodeJS.ErrnoException | null, written: number): void {
    this.#inFlight = false;
    if (!this.#current) return;
    if (error) {
      const retryMs = error.code === 'EAGAIN' ? RETRY_FULL_MS : RETRY_FAILED_MS;
      this.#retryTimer = setTimeout(() => {
        this.#retryTimer = undefined;
        this.#writeNext();
      }, retryMs).unref();
      return;
    }
    const rest = this.#current.subarray(written);
    this.#current = rest.length > 0 ? rest : undefined;
    if (!this.#current) this.#waiting -= this.#currentSize;
    this.#writeNext();
  }

  #onIdle(): void {
    if (this.#dropped > this.#reported) {
      const lines = this.#dropped - this.#reported;
      this.#reported = this.#dropped;
      this.onRecovery(lines);
    }
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** Writes of up to this many bytes are atomic, so workers that share a pipe do not mix their lines. */
const WORKER_CHUNK = 4096;
const FLUSH_MS = 500;

let shared: LogOutput | undefined;

const logOutput = (): LogOutput => {
  if (!shared) {
    const output = new LogOutput(nonBlockingStderr(), cluster.isWorker ? { chunk: WORKER_CHUNK } : {});
    process.on('exit', () => output.flushSync(FLUSH_MS));
    shared = output;
  }
  return shared;
};

/** Writes the rest of the log. Must be awaited before `process.exit`. Resolves after 500 ms at the latest. */
export const flushLog = async (): Promise<void> => shared?.flush(FLUSH_MS);

export const droppedLogLines = (): number => shared?.dropped ?? 0;

/**
 * Returns a descriptor for standard error, non-blocking if possible. All processes that inherit standard error share
 * its O_NONBLOCK flag, and each Node process resets the flag on exit. Opening the file again gives this process its own
 * flag.
 */
const nonBlockingStderr = (): number => {
  // The first access to `process.stderr` makes some descriptors non-blocking: sockets, and all descriptors if /proc
  // does not exist. These need not be opened again.
  const { fd } = process.stderr;
  if (!isatty(fd) && !fstatSync(fd).isFIFO()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
};
