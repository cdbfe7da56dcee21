/** The log on standard error: one JSON object a line, or text for people. */
import cluster from 'node:cluster';
import { type Logger as PinoLogger, pino } from 'pino';
import type { Config } from '../config/schema.js';
import type { Logger } from '../contracts/runtime.js';
import { loadPackage } from '../util/package.js';

const STDERR = 2;

export const createLogger = ({ level, format }: Config['log']): Logger => {
  const pretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const lines = pretty ? undefined : new GatheredLines();
  const destination = lines ?? forPeople();
  const children: PinoLogger[] = [];
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: isoTime,
      serializers: { err: describeError },
      onChild: (child) => void children.push(child),
    },
    destination,
  );
  const info = `{"level":${logger.levels.values['info']}`;
  const base = `,"pid":${process.pid},`;
  const infoJson = (members: string, message: string): void => {
    if (logger.isLevelEnabled('info')) destination.write(`${info}${isoTime()}${base}${members},"msg":"${message}"}\n`);
  };
  const setLevel = (to: string): void => {
    for (const each of [logger, ...children]) each.level = to;
  };
  if (lines) gathered.set(logger, lines);
  return Object.assign(logger, { infoJson, setLevel });
};

/** As pino describes errors, but without repeating causes that the message quotes already. */
const describeError = (error: unknown): unknown =>
  error instanceof Error ? { ...pino.stdSerializers.err(error), message: messageOf(error) } : error;

const messageOf = ({ message, cause }: Error, depth = 0): string => {
  const reason = cause instanceof Error && depth < MOST_CAUSES ? messageOf(cause, depth + 1) : '';
  return message.includes(reason) ? message : `${message}: ${reason}`;
};

const MOST_CAUSES = 10;

const gathered = new WeakMap<Logger, GatheredLines>();

/** Writes what a logger of `createLogger` has gathered; its later lines are written one by one. */
export const releaseLogger = (logger: Logger): void => gathered.get(logger)?.release();

const forPeople = () => {
  const { build } = loadPackage('pino-pretty') as typeof import('pino-pretty');
  return build({ destination: STDERR, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' });
};

/** Pipes take 4 KiB whole, so that workers, who share one, do not write into each other's lines. */
const WRITTEN_AT_ONCE = cluster.isWorker ? 4096 : 32 * 1024;
const WRITTEN_AFTER_MS = 250;

/** Logs with lines that may still wait when the process ends. One listener serves all applications of the process. */
const waiting = new Set<GatheredLines>();
const flushAll = (): void => {
  for (const lines of waiting) lines.flush();
};

/**
 * Lines are gathered and written together, so that a line a request is cheap. They wait here rather than in pino's
 * destination, which measures all that waits anew with each line.
 */
class GatheredLines {
  readonly #destination = pino.destination({ dest: STDERR, sync: true });
  #lines = '';
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    if (waiting.size === 0) process.on('exit', flushAll);
    waiting.add(this);
  }

  write(line: string): void {
    if (this.#lines.length + line.length > WRITTEN_AT_ONCE) this.flush();
    this.#lines += line;
    if (waiting.has(this)) this.#timer ??= setTimeout(() => this.flush(), WRITTEN_AFTER_MS).unref();
    else this.flush();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#lines;
    this.#lines = '';
    if (text !== '') this.#destination.write(text);
  }

  release(): void {
    this.flush();
    waiting.delete(this);
    if (waiting.size === 0) process.off('exit', flushAll);
  }
}

let millisecond = 0;
let written = '';

/** Many lines have the same time, which is formatted once. */
const isoTime = (): string => {
  const now = Date.now();
  if (now !== millisecond) {
    millisecond = now;
    written = `,"time":"${new Date(now).toISOString()}"`;
  }
  return written;
};
